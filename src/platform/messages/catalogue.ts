/**
 * What people read on the pages for signing in and in their mails and text messages, in their language: catalogues in
 * ICU MessageFormat, one file a language, whose keys are named by what they mean.
 *
 * The language of a page is the first that there is a catalogue for, of: the application's `ui_locales` (OpenID Connect
 * Core section 3.1.2.1), what the person chose in a list, their browser's `Accept-Language`, the user's own language,
 * the organization's, the instance's; else English. Each may be a language tag with a region or a script.
 *
 * Guarantee: values are values: a name that looks like a message or like markup stays what it is. A message that a
 * catalogue lacks is said in English.
 */
import { readFileSync } from 'node:fs';
import { IntlMessageFormat } from 'intl-messageformat';
import Negotiator from 'negotiator';
import { inRequestContext, type LanguageWishes, requestContext } from '../request-context.ts';
import { type Html, html } from '../text/html.ts';
import en from './en.json' with { type: 'json' };

/** The languages that there is a catalogue for; the first is spoken where no other is wished for. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'sv', 'tr', 'ja', 'zh', 'ar'] as const;

export type Language = (typeof LANGUAGES)[number];

type Sections = typeof en;

/** The name of a message: its section, a dot, and what it means. */
export type MessageKey = { [S in keyof Sections & string]: `${S}.${keyof Sections[S] & string}` }[keyof Sections &
  string];

/** What a message puts into its text. */
export type Values = Readonly<Record<string, string | number | Date>>;

/** The message as text, in the language of the request in progress. */
export function say(key: MessageKey, values: Values = {}): string {
  return String(messageOf(key).format({ ...values }));
}

/**
 * The message as markup. Its text and its values are escaped, unless a value is markup already.
 * @param values a function gets what the tag of its name contains: `<link>…</link>`. `<strong>` needs none
 */
export function sayHtml(
  key: MessageKey,
  values: Readonly<Record<string, string | number | Date | Html | ((inside: Html) => Html)>> = {},
): Html {
  const all = Object.entries({ strong: (inside: Html) => html`<strong>${inside}</strong>`, ...values });
  const given = all.map(([name, value]) => [
    name,
    typeof value === 'function' ? (inside: (string | Html)[]) => value(html`${inside}`) : value,
  ]);
  const said: unknown = messageOf(key).format(Object.fromEntries(given));
  return html`${said as string | Html | (string | Html)[]}`;
}

/** The language of the request in progress; English for work that no request started. */
export function currentLanguage(): Language {
  const wishes = requestContext()?.wishes;
  if (!wishes) return LANGUAGES[0];
  const known = chosen.get(wishes) ?? languageFor(wishes);
  chosen.set(wishes, known);
  return known;
}

/** The language of each request's wishes, so that it is looked for once. */
const chosen = new WeakMap<LanguageWishes, Language>();

/** Whether the text runs from the right to the left. */
export function directionOf(language: Language): 'ltr' | 'rtl' {
  return /^(ar|fa|he|ur)\b/.test(language) ? 'rtl' : 'ltr';
}

/** Readers of Chinese look for the script: that of our catalogue. */
const WITH_SCRIPT: Readonly<Record<string, string>> = { zh: 'zh-Hans' };

/** What a language calls itself; the tag where nobody knows it, as that of a user may be of any form. */
export function nameOf(language: string): string {
  try {
    return new Intl.DisplayNames(language, { type: 'language' }).of(WITH_SCRIPT[language] ?? language) ?? language;
  } catch (error) {
    if (error instanceof RangeError) return language;
    throw error;
  }
}

/** Whether there is a catalogue for the language of exactly this name. */
export function isLanguage(name: unknown): name is Language {
  return LANGUAGES.some((language) => language === name);
}

/**
 * Adds what becomes known of the languages that are wished for while a request is answered. The user's own language may
 * be named only once they have proved who they are: else a page would tell that they exist.
 */
export function wishFor(wishes: LanguageWishes): void {
  const context = requestContext();
  if (context) context.wishes = { ...context.wishes, ...wishes };
}

/** Does the work in the first of these languages that there is a catalogue for; for mails. */
export function inLanguage<T>(wishes: LanguageWishes, work: () => T): T {
  return inRequestContext({ requestId: '', ...requestContext(), wishes }, work);
}

/** The first of the wishes, in their order, that there is a catalogue for. @param among the languages to choose from */
export function languageFor<L extends Language>(wishes: LanguageWishes, among: readonly [L, ...L[]]): L;
export function languageFor(wishes: LanguageWishes): Language;
export function languageFor(wishes: LanguageWishes, among: readonly Language[] = LANGUAGES): Language {
  return firstOf(wishes, among) ?? LANGUAGES[0];
}

/** The language of the request in progress, if there is a catalogue for one that is wished for. */
export function wishedLanguage(): Language | undefined {
  const wishes = requestContext()?.wishes;
  return wishes && firstOf(wishes, LANGUAGES);
}

function firstOf(wishes: LanguageWishes, among: readonly Language[]): Language | undefined {
  const { application, chosen, browser, user, organization, instance } = wishes;
  for (const wish of [application, chosen, browser, user, organization, instance]) {
    const language = wish ? supported(wish, among) : undefined;
    if (language) return language;
  }
  return undefined;
}

/** The language of a header `Accept-Language`, or of tags with spaces between them as in `ui_locales`, if there is one. */
export function supported(wish: string, among: readonly Language[] = LANGUAGES): Language | undefined {
  const tags = wish
    .trim()
    .replace(/\s*;\s*/g, ';')
    .split(/[\s,]+/);
  // Any language is no wish, so that the next one counts.
  const known = tags.filter((tag) => tag !== '' && !tag.startsWith('*'));
  // Without weights, as in `ui_locales`, the first one counts, although another has the very name of a catalogue.
  const lists = known.some((tag) => tag.includes(';')) ? [known.join(',')] : known;
  for (const list of lists) {
    const language = new Negotiator({ headers: { 'accept-language': list } }).language([...among]);
    if (language) return language as Language;
  }
  return undefined;
}

/** A catalogue as its file has it: messages by section and meaning. */
type Catalogue = Readonly<Record<string, Readonly<Record<string, string>> | undefined>>;

const catalogues = new Map<Language, Catalogue>();
const messages = new Map<string, IntlMessageFormat>();

function messageOf(key: MessageKey): IntlMessageFormat {
  const language = currentLanguage();
  const name = `${language} ${key}`;
  const known = messages.get(name);
  if (known) return known;
  const [section, meaning] = key.split('.') as [keyof Sections, string];
  const own = catalogueOf(language)[section]?.[meaning];
  const text = own ?? ((en as Catalogue)[section]?.[meaning] as string);
  const message = new IntlMessageFormat(text, own === undefined ? LANGUAGES[0] : language);
  messages.set(name, message);
  return message;
}

/** Read when it is first needed: a worker that sends no mail needs none. */
function catalogueOf(language: Language): Catalogue {
  const known = catalogues.get(language);
  if (known) return known;
  const read: Catalogue =
    language === 'en' ? en : JSON.parse(readFileSync(new URL(`${language}.json`, import.meta.url), 'utf8'));
  catalogues.set(language, read);
  return read;
}
