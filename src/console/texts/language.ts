/**
 * The language of the console, English or German, and texts that follow it.
 *
 * Guarantee: both languages have the same texts: the German ones have the type of the English ones.
 */
import { size } from '../../contract/finding.ts';
import { type Language, languageFor } from '../../platform/messages/catalogue.ts';
import { type LanguageWishes, requestContext } from '../../platform/request-context.ts';

/** The first is that of everybody who wishes for neither. */
export const CONSOLE_LANGUAGES = ['en', 'de'] as const satisfies readonly Language[];

export type ConsoleLanguage = (typeof CONSOLE_LANGUAGES)[number];

/** The language of the request in progress, as on all pages, of those that the console has. */
export function consoleLanguage(): ConsoleLanguage {
  const wishes = requestContext()?.wishes;
  if (!wishes) return CONSOLE_LANGUAGES[0];
  const known = chosen.get(wishes) ?? languageFor(wishes, CONSOLE_LANGUAGES);
  chosen.set(wishes, known);
  return known;
}

/** The language of each request's wishes, so that it is looked for once. */
const chosen = new WeakMap<LanguageWishes, ConsoleLanguage>();

/** The type of texts in any language. */
export type TextsLike<T> = T extends string
  ? string
  : T extends (...values: infer V) => infer R
    ? (...values: V) => TextsLike<R>
    : { readonly [K in keyof T]: TextsLike<T[K]> };

/** Texts that are read in the language of the request: what holds one must be made in a request. */
export function localized<T extends object>(english: T, german: TextsLike<T>): T {
  const texts = (): object => (consoleLanguage() === 'de' ? german : english);
  return new Proxy(english, { get: (_, name) => Reflect.get(texts(), name) });
}

/** The German names of states, whose look is that of the English ones. */
export function named<K extends string, S extends { name: string }>(
  states: Readonly<Record<K, S>>,
  names: Readonly<Record<NoInfer<K>, string>>,
): Record<K, S> {
  const all = Object.entries<S>(states).map(([state, of]) => [state, { ...of, name: names[state as K] ?? of.name }]);
  return Object.fromEntries(all) as Record<K, S>;
}

const formats = { en: new Intl.NumberFormat('en'), de: new Intl.NumberFormat('de') };
const one = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
const decimals = { en: new Intl.NumberFormat('en', one), de: new Intl.NumberFormat('de', one) };

/** `10,000`, `10.000` */
export function numberText(value: number): string {
  return formats[consoleLanguage()].format(value);
}

/** With one digit after the point: `0.3`, `0,3`. */
export function decimalText(value: number): string {
  return decimals[consoleLanguage()].format(value);
}

/** `1.5 GiB`, `1,5 GiB` */
export function sizeText(bytes: number): string {
  const text = size(bytes);
  return consoleLanguage() === 'de' ? text.replace('.', ',') : text;
}
