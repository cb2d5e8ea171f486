/** Markup that several screens share, and how the console shows numbers and times. */
import type { Request } from 'express';
import type { Counts } from '../../contract/import-types.ts';
import { timeOf } from '../../platform/messages/times.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { ownValue } from '../../platform/text/names.ts';
import { SOURCES } from '../../sources/registry.ts';
import { isComplete, type Progress, settled, stateOf } from '../shapes.ts';
import { ONE } from '../texts/import.ts';
import { CHECK_STATES, DRAFT_STATES, GUIDES, IMPORT_STATES, UPLOADED } from '../texts/imports.ts';
import { consoleLanguage, numberText } from '../texts/language.ts';

export interface Link {
  href: string;
  text: string;
}

/** A heading with a link to the screen above it, and buttons. */
export function headline(title: string, above?: Link, buttons?: Html): Html {
  return html`${above && crumb(above)}
<div class="headline"><h1>${title}</h1>${buttons && html`<div class="buttons">${buttons}</div>`}</div>`;
}

/** The link to the screen above. */
export function crumb({ href, text }: Link): Html {
  return html`<p class="crumb"><a href="${href}">${text}</a></p>`;
}

export interface Message {
  heading: string;
  message: string;
  more?: Html | undefined;
  link?: Link;
}

/** A page that says one thing. */
export function messageBody({ heading, message, more, link }: Message): Html {
  return html`<section class="message">
<h1>${heading}</h1>
<p>${message}</p>
${more}
${link && html`<p><a class="button" href="${link.href}">${link.text}</a></p>`}
</section>`;
}

/** Instead of a list that has nothing in it. */
export function empty(heading: string, message: Html | string, more?: Html): Html {
  return html`<section class="card empty"><h2>${heading}</h2><p>${message}</p>${more}</section>`;
}

export interface FormPage {
  title: string;
  /** The page to go back to. */
  above: Link;
  /** Why the form was refused. */
  problem: string | undefined;
  action: string;
  /** The fields, and what the form does. */
  content: Html;
  button: string;
  /** The name of the way back, for a form that removes something. */
  back?: string;
  /** The form has a way back, and removes nothing. */
  isHarmless?: boolean;
}

/** A page with one form: it creates something, or asks before something is removed. */
export function formPage({ title, above, problem, action, content, button, back, isHarmless = false }: FormPage): Html {
  const buttons = back
    ? html`<button${isHarmless ? undefined : html` class="danger"`} type="submit">${button}</button><a class="button quiet" href="${above.href}">${back}</a>`
    : html`<button type="submit">${button}</button>`;
  return html`${headline(title, above)}
${notice(problem, 'bad')}
<form class="card confirm" method="post" action="${action}">
${content}
<div class="buttons">${buttons}</div></form>`;
}

/** A sentence above the content. `done` is read out by screen readers, `bad` interrupts them. */
export function notice(
  text: string | undefined,
  look: 'done' | 'bad' | 'warn' = 'done',
  id?: string,
): Html | undefined {
  if (!text) return undefined;
  if (look === 'bad') return html`<p class="notice bad" role="alert"${id && html` id="${id}"`}>${text}</p>`;
  return html`<p class="notice${look === 'warn' ? ' warn' : ''}" role="status">${text}</p>`;
}

export interface StateName {
  name: string;
  /** A class of `.state`: `good`, `bad`, `warn`, `still`; empty for one that is under way. */
  look: string;
}

/** The badge of a state. */
export function state({ name, look }: StateName): Html {
  return html`<span class="state ${look}">${name}</span>`;
}

export type Fact = [name: string, value: Html | string | undefined];

/** Names with their values; a name without a value is left out. */
export function facts(list: readonly Fact[]): Html {
  return html`<dl class="facts wide">
${list.map(([name, value]) =>
  value === undefined || value === '' ? undefined : html`<div class="minor"><dt>${name}</dt><dd>${value}</dd></div>\n`,
)}</dl>`;
}

/** @param look `plain` without marks; `does` for what an action will do */
export function list(items: readonly (Html | string)[], look?: 'plain' | 'does'): Html {
  return html`<ul${look && html` class="${look}"`}>${items.map((item) => html`<li>${item}</li>\n`)}</ul>`;
}

/** A table with more columns needs a wide screen. */
const MOST_COLUMNS = 5;

/**
 * A table, which becomes a list of cards on a phone; its cells name their column in `data-label`.
 * @param caption for screen readers
 * @param columns names, or the results of `numbers`
 * @param look further classes
 */
export function table(caption: string, columns: readonly (Html | string)[], rows: readonly Html[], look = ''): Html {
  const head = columns.map((column) => (typeof column === 'string' ? html`<th scope="col">${column}</th>` : column));
  const many = columns.length > MOST_COLUMNS ? 'many' : '';
  return html`<table class="${['stack', many, look].filter(Boolean).join(' ')}"><caption class="sr">${caption}</caption>
<thead><tr>${head}</tr></thead>
<tbody>${[...rows]}</tbody></table>`;
}

/** The head of a column of numbers. */
export function numbers(name: string): Html {
  return html`<th scope="col" class="number">${name}</th>`;
}

/** Links to other pages of a list; undefined without any. */
export function pages(...links: (Link | undefined)[]): Html | undefined {
  if (links.every((link) => link === undefined)) return undefined;
  return html`<p class="pages">${links.map((link) => link && html`<a href="${link.href}">${link.text}</a>\n`)}</p>`;
}

export type Choice = [value: string, name: string];

/** Choices of which one is taken. */
export function selectField(label: string, name: string, choices: readonly Choice[], value: string): Html {
  return html`<div><label for="${name}">${label}</label>
<select id="${name}" name="${name}">
${options(choices, value)}</select></div>`;
}

export function options(choices: readonly Choice[], chosen: string): Html {
  return html`${choices.map(
    ([value, text]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : undefined}>${text}</option>\n`,
  )}`;
}

/** One of several, as radio buttons. @param form the id of the form that they belong to, if they are not inside it */
export function choices(
  legend: string,
  name: string,
  kinds: Readonly<Record<string, string>>,
  chosen: string,
  form?: string,
): Html {
  return html`<fieldset class="field"><legend>${legend}</legend>${Object.entries(kinds).map(
    ([value, text]) =>
      html`<label class="choice"><input type="radio" name="${name}" value="${value}"${value === chosen ? html` checked` : undefined}${form && html` form="${form}"`}>${text}</label>\n`,
  )}</fieldset>`;
}

/** A parameter of the address; empty if it is missing or repeated. */
export function parameter(req: Request, name: string): string {
  const value = req.query[name];
  return typeof value === 'string' ? value.trim() : '';
}

/** `?a=1&b=2` of the values that are not empty. */
export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => !!entry[1]);
  return given.length > 0 ? `?${new URLSearchParams(given)}` : '';
}

/** `10,000` */
export const count = numberText;

/** `42 %`; never 100 % before everything is done. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '100 %';
  return `${Math.floor((part / whole) * 100)} %`;
}

/** `45 s`, `3 min 20 s`, `2 h 5 min` */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `2026-11-23 13:02 UTC`, as the server does not know the reader's zone; src/platform/html/browser/local-times.ts shows it in theirs. */
export function time(iso: string | undefined): Html | undefined {
  return iso ? timeOf(new Date(iso), { language: consoleLanguage() }) : undefined;
}

/** As `time`, and with scripts the time that has passed: `5 min. ago`. */
export function ago(iso: string | undefined): Html | undefined {
  return iso ? timeOf(new Date(iso), { form: 'ago', language: consoleLanguage() }) : undefined;
}

/** `13:02:05 UTC`, today or on the day that the page names. @param name of the time in live updates */
export function clockTime(iso: string, name?: string): Html {
  return html`<time datetime="${iso}" data-form="seconds"${name && html` data-time="${name}"`}>${clock(iso)} UTC</time>`;
}

/** `13:02:05` */
export function clock(iso: string): string {
  return iso.slice(11, 19);
}

/** The name of the source that users come from, as people write it. */
export function sourceTitle(source: string): string {
  return ownValue(GUIDES.own, source) ?? SOURCES.find(({ name }) => name === source)?.title ?? source;
}

const PARTS = ['succeeded', 'skipped', 'failed', 'undone'] as const;

/** Widths of the parts in percent of the bar, in the order of PARTS. */
export function widths(counts: Counts): number[] {
  const { total } = counts;
  return PARTS.map((part) => (total === 0 ? 0 : Math.round((counts[part] / total) * 10_000) / 100));
}

/** @param key the name of the bar in live updates */
export function bar(key: string, counts: Counts, look = ''): Html {
  const all = widths(counts);
  const label = `${percent(settled(counts), counts.total)}: ${PARTS.filter((part) => counts[part] > 0)
    .map((part) => `${count(counts[part])} ${ONE[part].toLowerCase()}`)
    .join(', ')}`;
  const before = (i: number) => all.slice(0, i).reduce((a, b) => a + b, 0);
  return html`<svg class="bar ${look}" role="img" aria-label="${label}" data-bar="${key}" preserveAspectRatio="none" viewBox="0 0 100 10">
${PARTS.map((part, i) => html`<rect class="${part}" x="${before(i)}" y="0" width="${all[i]}" height="10"/>`)}</svg>`;
}

/** The state of an import. A dry run that found problems did what it is for, so it has names and colours of its own. */
export function importBadge(of: Progress): Html {
  if (stateOf(of) === 'UPLOADING' && of.draft) {
    if (isComplete(of.draft.files)) return state(UPLOADED);
    // Nothing is on its way.
    if (of.draft.files.length === 0) return badge({ state: 'IMPORT_STATE_DRAFT' });
  }
  if (!of.dryRun) return badge(of);
  const found = CHECK_STATES[stateOf(of)]?.(of.counts.failed, count(of.counts.failed));
  return found ? state(found) : badge(of);
}

/** The state of an import, a draft or an item. */
export function badge(of: { state: string }, states = IMPORT_STATES): Html {
  return state(states[stateOf(of)] ?? DRAFT_STATES[stateOf(of)] ?? { name: stateOf(of), look: 'still' });
}
