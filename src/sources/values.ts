/**
 * Reads values from untrusted records, in which a value of the wrong type counts as absent; and tells which fields of a
 * record become metadata.
 */
import type { Fields } from './source.ts';
import { folded, withoutRemark } from './words.ts';

/** The key under which a record gets the strings that precede its array in the enclosing object. */
export const CONTEXT = '@context';

/** The key under which a record gets the name of the property that it was, in an object keyed by user. */
export const KEY = '@key';

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object at a key, or an empty one. */
export function objectAt(record: Fields, key: string): Fields {
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  return isFields(value) ? value : {};
}

/** A step of a path: a name, the place in a list, or the element of a list with a value: `[primary=true]`. */
type PathStep = string | { key: string; value: string };

const PATHS = new Map<string, readonly PathStep[]>();
const MOST_PATHS = 1000;
const STEP = /\[([^\]=]+)=([^\]]*)\]|\[(\d+)\]|([^.[\]]+)/g;

function stepsOf(path: string): readonly PathStep[] {
  const known = PATHS.get(path);
  if (known) return known;
  const steps = [...path.matchAll(STEP)].map((found) => stepOf(found));
  if (PATHS.size >= MOST_PATHS) PATHS.clear();
  PATHS.set(path, steps);
  return steps;
}

function stepOf([, key, value = '', place, name = '']: RegExpExecArray): PathStep {
  return key === undefined ? (place ?? name) : { key, value };
}

/**
 * The value at a name, or at a path through objects and lists: `profile.mail`, `emails.0.address`,
 * `emails[primary=true].address`. A field that has the whole path as its name comes first.
 */
export function valueAt(record: Fields, path: string | undefined): unknown {
  if (path === undefined) return undefined;
  if (Object.hasOwn(record, path)) return record[path];
  if (!/[.[]/.test(path)) return undefined;
  let value: unknown = record;
  for (const step of stepsOf(path)) value = stepInto(value, step);
  return value;
}

function stepInto(value: unknown, step: PathStep): unknown {
  if (typeof step !== 'string') {
    const list: unknown[] = Array.isArray(value) ? value : [];
    return list.find((one) => isFields(one) && Object.hasOwn(one, step.key) && String(one[step.key]) === step.value);
  }
  if (Array.isArray(value)) return /^\d{1,6}$/.test(step) ? value[Number(step)] : undefined;
  return isFields(value) && Object.hasOwn(value, step) ? value[step] : undefined;
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

/** A hash or its beginning, a long number in hexadecimal, and letters and digits as only chance mixes them. */
const SECRETS = [
  /\$[\w,=.-]{1,24}\$\S{7}/,
  /\{[\w./-]{2,24}\}\S{10}/,
  /[0-9a-f-]{32}/i,
  /(?=[^\s]*[a-z])(?=[^\s]*[A-Z])(?=[^\s]*\d)[\w+/=.-]{20}/,
  /(?=\S*\d)\b[A-Z2-7]{16}/,
  /(?=(?:\S*?\d){3})\b[a-z0-9]{24}/,
];

/** Whether a text is a hash or another secret, or holds one. @param text only its first 1000 characters are looked at */
export function looksSecret(text: string): boolean {
  const beginning = text.slice(0, 1000);
  return SECRETS.some((form) => form.test(beginning));
}

/** A value or a name of a file as messages show it: shortened, and not at all if it may be a secret. */
export function shownValue(text: string, longest = 60): string {
  if (looksSecret(text)) return '(not shown)';
  const trimmed = text.trim();
  return trimmed.length > longest ? trimmed.slice(0, longest) : trimmed;
}

/** Words for yes and no of spreadsheets in many languages, without accents; tools write MySQL's BIT in many forms. */
const TRUE = new Set(
  `true t 1 1.0 -1 yes y ja j oui wahr vrai si verdadero verdadeira verdadeiro sim vero on tak prawda evet dogru ano igaz
    da kylla waar sand sann igen ya taip jah ja jo да истина так ναι はい 是 真 예 네 نعم כן ใช่ ✓ ✔ \x01 \\x01 b'1' 0x01
    0x1 aq==`
    .split(/\s+/)
    .map(folded),
);
const FALSE = new Set(
  `false f 0 0.0 no n nein non falsch faux nao falso falsa off nie falsz hayir yanlis nej nei nee nem hamis ne onwaar falskt
    ei tidak nu нет ложь ні οχι いいえ 否 假 아니오 아니요 لا לא ✗ ✘ \x00 \\x00 \\0 b'0' 0x00 0x0 aa==`
    .split(/\s+/)
    .map(folded),
);

/**
 * Whether a value means yes or no, in the forms of many tools: `true`, `TRUE`, `t`, `1`, `yes`, `WAHR`, `FALSO`, a byte
 * of MySQL's BIT as itself, `b'0'`, `0x00` or base64. Undefined for no value.
 */
export function flagOf(value: unknown): boolean | 'unreadable' | undefined {
  if (typeof value === 'boolean') return value;
  if (value === undefined || value === null) return undefined;
  if (isFields(value)) return bitOf(value);
  if (typeof value !== 'string' && typeof value !== 'number') return 'unreadable';
  const text = String(value).replace(/^[ \t\r\n]+|[ \t\r\n.]+$/g, '');
  if (text === '') return String(value).trim() === '' ? undefined : 'unreadable';
  const word = folded(text);
  if (TRUE.has(word)) return true;
  return FALSE.has(word) ? false : 'unreadable';
}

/** A byte as Node.js writes it in JSON: `{"type":"Buffer","data":[1]}`. */
function bitOf({ type, data }: Fields): boolean | 'unreadable' {
  const [bit] = type === 'Buffer' && Array.isArray(data) && data.length === 1 ? data : [];
  if (bit === 1) return true;
  return bit === 0 ? false : 'unreadable';
}

/** The boolean at a key, in all forms of `flagOf`; a value that cannot be read counts as absent. */
export function boolAt(record: Fields, key: string): boolean | undefined {
  const flag = flagOf(Object.hasOwn(record, key) ? record[key] : undefined);
  return flag === 'unreadable' ? undefined : flag;
}

/** The name of a column without case and punctuation: `Email Address [Required]` becomes `emailaddress`. */
export function plainName(column: string): string {
  return withoutRemark(column)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
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

/** So many digits may be more than a number of JavaScript holds. */
const MANY_DIGITS = /[\d.]{16,}/;

/**
 * As JSON.parse; a number that would lose digits becomes a text of its digits, such as an id above 2^53.
 * @throws SyntaxError
 */
export function exactJson(text: string): unknown {
  return MANY_DIGITS.test(text) ? JSON.parse(text, exactNumber) : JSON.parse(text);
}

function exactNumber(_key: string, value: unknown, { source }: { source?: string } = {}): unknown {
  if (typeof value !== 'number' || source === undefined || source.length < 16) return value;
  return digitsOf(source) === digitsOf(String(value)) ? value : source;
}

/** The significant digits, whatever the exponent. */
function digitsOf(number: string): string {
  return number
    .replace(/[eE].*$/, '')
    .replace(/[-+.]/g, '')
    .replace(/^0+|0+$/g, '');
}

/** The value of a JSON text; undefined when it is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return exactJson(text);
  } catch {
    return undefined;
  }
}

/**
 * The gender in OpenID Connect's claim (Core 1.0 section 5.1): free text, for which the standard defines two values.
 * Any other text gives undefined.
 */
export function genderOf(text: string | undefined): 'GENDER_FEMALE' | 'GENDER_MALE' | undefined {
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
    name !== CONTEXT && name !== KEY && !known.has(name) && !isSecretName(name) && !isEmpty(value);
  return Object.fromEntries(Object.entries(record).filter(isKept));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true;
  return isEmptyObject(value);
}

/** The fields that have a value. */
export function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
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
const SECRET_WORD =
  /pass(?:wor[dt]|wd|code|phrase)|pwd|secret|token|otp|kennwort|motdepasse|contrase|wachtwoord|palavrapasse/;
/** Words that contain `otp` and are no secret. */
const NO_OTP = /footp(?:ath|rint)|spotprice/g;
/** Words of secrets with digits, and words that only the characters around them tell from others: `api_key`. */
const SECRET_PART = /two_?factor|2fa|recovery_?codes?|api_?key|_key/i;
/** Whole words, also between capitals (`userPw`) and digits (`pw1`): in other names they are letters (`passport`). */
const WHOLE_WORDS = [
  'senha',
  'parola',
  'pw',
  'pass',
  'passw',
  'passhash',
  'pwhash',
  'pword',
  'psw',
  'pswd',
  'salt',
  'nonce',
];

/**
 * Whether a column or field of this name is likely to hold a secret. Such columns do not become metadata; a guess and
 * the report of an import do not show their values.
 */
export function isSecretName(name: string): boolean {
  const known = ANSWERS.get(name);
  if (known !== undefined) return known;
  const letters = name.toLowerCase().replace(/[^a-z]/g, '');
  const isSecret = SECRET_WORD.test(letters.replace(NO_OTP, '')) || SECRET_PART.test(name) || hasSecretWord(name);
  if (ANSWERS.size >= MOST_ANSWERS) ANSWERS.clear();
  if (name.length <= LONGEST_ANSWERED) ANSWERS.set(name, isSecret);
  return isSecret;
}

function hasSecretWord(name: string): boolean {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.some((word) => WHOLE_WORDS.includes(word));
}
