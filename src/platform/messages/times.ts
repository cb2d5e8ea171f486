/**
 * Times on pages: in UTC and in the language of the request. The script of ../html/times.ts turns them into the zone of
 * the browser.
 */
import { type Html, html } from '../text/html.ts';
import { currentLanguage, type Language } from './catalogue.ts';

interface TimeForm {
  /** As the script reads it. */
  form?: 'ago';
  language?: Language;
}

/** A time as a page shows it, without the seconds. */
export function timeOf(at: Date, { form, language }: TimeForm = {}): Html {
  return html`<time datetime="${at.toISOString()}"${form && html` data-form="${form}"`}>${utc(at, language)}</time>`;
}

/** In UTC, without the seconds: `2026-11-27 18:50 UTC`, `27.11.2026, 18:50 UTC`. */
export function utc(at: Date, language = currentLanguage()): string {
  const known = formats.get(language) ?? formatOf(language);
  formats.set(language, known);
  return `${known.format(at)} UTC`;
}

const formats = new Map<Language, Intl.DateTimeFormat>();

/** Readers of English order days and months in two ways, so that they get the order of ISO 8601, which Swedish has. */
function formatOf(language: Language): Intl.DateTimeFormat {
  const numbers = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  } as const;
  return new Intl.DateTimeFormat(language === 'en' ? 'sv' : language, { ...numbers, timeZone: 'UTC' });
}
