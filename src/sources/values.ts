import type { Person } from './entry.ts';
import type { Fields } from './source.ts';

/**
 * Reads values from untrusted records, in which a value of the wrong type counts as absent; and tells which fields of a
 * record become metadata.
 */

/** The key under which a record gets the strings that precede its array in the enclosing object. */
export const CONTEXT = '@context';

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object at a key, or an empty one. */
export function objectAt(record: Fields, key: string): Fields {
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  return isFields(value) ? value : {};
}

/** The objects of the array at a key. */
export function objectsAt(record: Fields, key: string): Fields[] {
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** The trimmed text at a key; a number becomes its digits; empty text counts as absent. */
export function textAt(record: Fields, key: string): string | undefined {
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return text === '' ? undefined : text;
}

/** Also as German and French spreadsheets write them. */
const TRUE = ['true', 't', '1', 'yes', 'y', 'ja', 'j', 'oui', 'wahr', 'vrai'];
const FALSE = ['false', 'f', '0', 'no', 'n', 'nein', 'non', 'falsch', 'faux'];

/** The boolean at a key, also in its CSV forms: `true`, `TRUE`, `t`, `1`, `yes` and their opposites. */
export function boolAt(record: Fields, key: string): boolean | undefined {
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  if (typeof value === 'boolean') return value;
  const text = textAt(record, key)?.toLowerCase();
  if (text === undefined) return undefined;
  if (TRUE.includes(text)) return true;
  return FALSE.includes(text) ? false : undefined;
}

/** The integer at a key, also if written as text. */
export function numberAt(record: Fields, key: string): number | undefined {
  const text = textAt(record, key);
  return text !== undefined && /^-?[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

/** The object at a key, also if it is JSON text there, as in exports of databases. */
export function jsonAt(record: Fields, key: string): Fields {
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  if (isFields(value)) return value;
  const parsed = typeof value === 'string' ? parseJson(value) : undefined;
  return isFields(parsed) ? parsed : {};
}

/** The objects of the array at a key, also if it is JSON text there, as in exports of databases. */
export function listAt(record: Fields, key: string): Fields[] {
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  const list = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(list) ? list.filter(isFields) : [];
}

/** The text under the first of these keys that has one. */
export function firstText(record: Fields, keys: readonly string[]): string | undefined {
  return keys.map((key) => textAt(record, key)).find((text) => text !== undefined);
}

/** The boolean under the first of these keys that has one. */
export function firstBool(record: Fields, keys: readonly string[]): boolean | undefined {
  return keys.map((key) => boolAt(record, key)).find((value) => value !== undefined);
}

/** The value of a JSON text; undefined when it is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The gender in OpenID Connect's claim (Core 1.0 section 5.1): free text, for which the standard defines two values.
 * Any other text gives undefined.
 */
export function genderOf(text: string | undefined): Person['gender'] {
  const word = text?.toLowerCase();
  if (word === 'female') return 'GENDER_FEMALE';
  return word === 'male' ? 'GENDER_MALE' : undefined;
}

/** @param names separated by blanks or line ends */
export function fieldNames(names: string): ReadonlySet<string> {
  return new Set(names.split(/\s+/));
}

/**
 * The fields of a record that have no counterpart here and become metadata. Secrets and empty values are left out.
 * @param known fields that the source itself reads or drops
 */
export function restOf(record: Fields, known: ReadonlySet<string>): Fields {
  const isKept = ([name, value]: [string, unknown]) =>
    name !== CONTEXT && !known.has(name) && !isSecretName(name) && !isEmpty(value);
  return Object.fromEntries(Object.entries(record).filter(isKept));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true;
  return isEmptyObject(value);
}

/** Whether the value is an object or a list without anything in it. */
export function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** What was found out about names: the records of a file have the same ones. */
const ANSWERS = new Map<string, boolean>();
const MOST_ANSWERS = 1000;
const LONGEST_ANSWERED = 100;
/** Words of secrets among the letters of a name, so in any spelling: `passwordHint`, `USER_PASS_WORD`, `totp`. */
const SECRET_WORD = /pass(?:wor[dt]|wd|code|phrase)|pwd|secret|token|otp/;
/** Words that contain `otp` and are no secret. */
const NO_OTP = /footp(?:ath|rint)|spotprice/g;
/** Words of secrets with digits, and words that only the characters around them tell from others: `Nonce`, `api_key`. */
const SECRET_PART = /two_?factor|2fa|recovery_?codes?|api_?key|_key|(?:^|_)(?:salt|nonce)(?:_|$)/i;

/**
 * Whether a column or field of this name is likely to hold a secret. Such columns do not become metadata; a guess and
 * the report of an import do not show their values.
 */
export function isSecretName(name: string): boolean {
  const known = ANSWERS.get(name);
  if (known !== undefined) return known;
  const letters = name.toLowerCase().replace(/[^a-z]/g, '');
  const isSecret = SECRET_WORD.test(letters.replace(NO_OTP, '')) || SECRET_PART.test(name);
  if (ANSWERS.size >= MOST_ANSWERS) ANSWERS.clear();
  if (name.length <= LONGEST_ANSWERED) ANSWERS.set(name, isSecret);
  return isSecret;
}
