/**
 * Reads whether a user may sign in, for every source: which fields of a record say so, and what their values mean, is
 * data of the source.
 *
 * Guarantee: fails closed. A value that cannot be read makes the user inactive, with a note that shows the value, so
 * that the summary counts every word; and so does an empty one where the field says who is active.
 */
import type { Note, Person } from './entry.ts';
import type { Fields } from './source.ts';
import {
  isPerhapsRegion,
  isReason,
  meaningOfName,
  type NameMeaning,
  STATE_NAMES,
  STATE_WORDS,
  statePaths,
  WORDS_OF_PEOPLE,
} from './state-names.ts';
import { flagOf, plainName, shownValue, valueAt } from './values.ts';

/** Fields by what their values mean: names, or paths such as `account.enabled`. */
export interface StateRules {
  /** Yes: the user may sign in. Empty: not. */
  active?: readonly string[];
  /** Yes, a date, or any other mark: the user may not sign in. Empty: they may. */
  inactive?: readonly string[];
  locked?: readonly string[];
  /** No: the user is locked. */
  unlocked?: readonly string[];
  /** Users with yes or a date are no users to import. */
  deleted?: readonly string[];
  /** The user may not sign in before this date. */
  inactiveUntil?: readonly string[];
  lockedUntil?: readonly string[];
  /** Lists, in which a word for a state keeps the user out: `flags`. */
  marks?: readonly string[];
  /** The account or the membership ends: yes, or at this date. Empty, no, zero or a word for never: it does not. */
  activeUntil?: readonly string[];
  /** Names that may say a state, or may not: a value that is not harmless keeps out, with a note. */
  unclear?: readonly string[];
  /** Names that say nothing: only a word that is said of people, such as `banned`, keeps out, with a note. */
  others?: readonly string[];
  /** These have common names, and mean something else. */
  ignored?: readonly string[];
  words?: readonly StateWords[];
  /** These must be there in every record, as the system always writes them. */
  required?: readonly string[];
}

/** A field that names the state, with the words of the system, separated by blanks. */
export interface StateWords {
  field: string;
  /** `*`: all others. */
  active: string;
  inactive?: string;
  locked?: string;
  deleted?: string;
}

export interface StateRead {
  state: Person['state'];
  /** Why the record is no user to import. */
  skip?: string;
  notes: Note[];
}

type Meaning = 'active' | 'inactive' | 'locked' | 'deleted';
/** With what else is to be said; a note alone makes the user inactive. */
type Read = Meaning | Note | { meaning: Meaning; note: Note };

/** @param now milliseconds since 1970 */
export function readState(record: Fields, rules: StateRules, now = Date.now()): StateRead {
  const notes: Note[] = [];
  const found = new Set<Meaning>();
  let because = '';
  const see = (field: string, read: Read) => {
    const { meaning, note } = typeof read === 'string' ? { meaning: read } : 'note' in read ? read : unreadable(read);
    if (note) notes.push(note);
    if (meaning === 'deleted' && because === '') because = field;
    found.add(meaning);
  };
  for (const [field, read] of meaningsOf(record, rules, now)) see(field, read);
  for (const field of rules.required ?? []) if (valueAt(record, field) === undefined) see(field, emptyNote(field));
  for (const field of rules.unclear ?? []) {
    if (!isKnownHarmless(field, valueAt(record, field))) see(field, unreadNote(field, valueAt(record, field)));
  }
  for (const field of rules.others ?? []) if (isKeptOut(record[field])) see(field, keptOutNote(field, record[field]));
  for (const field of rules.marks ?? []) for (const meaning of marksIn(valueAt(record, field))) see(field, meaning);
  if (found.has('deleted')) return { state: undefined, skip: `The user is deleted (${because}).`, notes: [] };
  if (found.has('inactive')) return { state: 'inactive', notes };
  return { state: found.has('locked') ? 'locked' : undefined, notes };
}

const SYSTEMS = new WeakMap<StateRules, (record: Fields) => StateRules>();

/**
 * As `readState`, for a system whose records may have more fields than it documents: those with common names are read
 * besides.
 * @param own the same object for all records
 */
export function readSystemState(record: Fields, own: StateRules, now = Date.now()): StateRead {
  const rules = SYSTEMS.get(own) ?? withCommonRules(own);
  SYSTEMS.set(own, rules);
  return readState(record, rules(record), now);
}

function unreadable(note: Note): { meaning: Meaning; note?: Note } {
  return { meaning: 'inactive', note };
}

function* meaningsOf(record: Fields, rules: StateRules, now: number): Generator<[string, Read]> {
  for (const field of rules.active ?? []) {
    const value = valueAt(record, field);
    if (value !== undefined) yield [field, whenActive(field, value)];
  }
  for (const field of rules.unlocked ?? []) {
    const meaning = whenActive(field, valueAt(record, field) ?? true);
    yield [field, meaning === 'inactive' ? 'locked' : meaning];
  }
  for (const meaning of ['inactive', 'locked', 'deleted'] as const) {
    for (const field of rules[meaning] ?? []) yield [field, whenMarked(field, valueAt(record, field), meaning)];
  }
  for (const field of rules.inactiveUntil ?? []) yield [field, until(field, valueAt(record, field), 'inactive', now)];
  for (const field of rules.lockedUntil ?? []) yield [field, until(field, valueAt(record, field), 'locked', now)];
  for (const field of rules.activeUntil ?? []) yield [field, untilEnd(field, valueAt(record, field), now)];
  for (const words of rules.words ?? []) {
    const value = valueAt(record, words.field);
    if (value !== undefined) yield [words.field, meaningOf(value, words)];
  }
}

function whenActive(field: string, value: unknown): Meaning | Note {
  if (isEmpty(value)) return emptyNote(field);
  const flag = flagOf(value);
  // -1 is Access' yes, but a state below all others where the numbers are those of a status.
  if (String(value).trim() === '-1' && meaningOfName(field) === 'status') return unreadNote(field, value);
  if (/(?:at|on|date)$/i.test(field) && !isNoDate(value) && isMark(value)) return 'active';
  if (typeof flag === 'boolean') return flag ? 'active' : 'inactive';
  const meaning = commonMeaning(value);
  return meaning === undefined || meaning === 'deleted' ? unreadNote(field, value) : meaning;
}

function whenMarked(field: string, value: unknown, marked: 'inactive' | 'locked' | 'deleted'): Meaning | Note {
  if (isEmpty(value) || isNoDate(value)) return 'active';
  const flag = flagOf(value);
  if (typeof flag === 'boolean') return flag ? marked : 'active';
  if (isMark(value) || isReason(field)) return marked;
  const meaning = commonMeaning(value);
  if (meaning === 'deleted' || meaning === marked) return meaning;
  return meaning === 'inactive' || meaning === 'locked' ? meaning : unreadNote(field, value);
}

/** The states among the words of a list, or of a text that lists words; other words say nothing. */
function marksIn(value: unknown): Meaning[] {
  const list: unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? value.split(/[,;|\s]+/) : [];
  return list.flatMap((word) => {
    const meaning = isStateWord(word) ? commonMeaning(word) : undefined;
    return meaning === undefined || meaning === 'active' ? [] : [meaning];
  });
}

/** Words for "no end". */
const FOR_GOOD = /^(?:infinity|forever|never|permanent(?:ly)?)$/i;

function until(field: string, value: unknown, marked: 'inactive' | 'locked', now: number): Meaning | Note {
  if (isEmpty(value) || isNoDate(value) || flagOf(value) === false) return 'active';
  if (flagOf(value) === true || FOR_GOOD.test(String(value).trim())) return marked;
  const moments = momentsOf(value);
  if (moments.length === 0) return unreadNote(field, value);
  return Math.max(...moments) > now ? marked : 'active';
}

/** Words and numbers for an account without an end; the last is the largest FILETIME. */
const NO_END =
  /^(?:infinity|forever|never|none|no|unlimited|permanent(?:ly)?|nie|jamais|nunca|mai|0|-1|9223372036854775807)$/i;

/** Later than any account is meant to end: another way to write never. */
const ENDLESS_MS = Date.UTC(2200, 0, 1);

/**
 * Whoever's account ends later can sign in until somebody deactivates them, which is said. Whoever has left, at a time
 * that nobody wrote down, is kept out, and so is whoever has a value that is neither.
 */
function untilEnd(field: string, value: unknown, now: number): Read {
  const text = String(value).trim();
  // -1 is never for an end, and Access' yes for somebody who has left.
  if (text === '-1' && meaningOfName(field) === 'activeUntil') return 'inactive';
  if (isEmpty(value) || isNoDate(value) || NO_END.test(text) || flagOf(value) === false) return 'active';
  if (flagOf(value) === true || /^x$/i.test(text) || isReason(field)) return 'inactive';
  const moments = momentsOf(value);
  if (moments.length === 0) return commonMeaning(value) === 'inactive' ? 'inactive' : unreadNote(field, value);
  const end = Math.min(...moments);
  if (end <= now) {
    const message = `The account has ended (${field}); the user is imported as inactive.`;
    return { meaning: 'inactive', note: { id: 'ACCOUNT-ENDED', message } };
  }
  if (end > ENDLESS_MS) return 'active';
  const message = `The account is to end later (${field}). Nothing ends it here: deactivate the user then.`;
  return { meaning: 'active', note: { id: 'EXPIRY-DROPPED', message } };
}

/** FILETIME counts units of 100 ns since 1601. */
export function fromFileTime(filetime: number): number {
  return filetime / 10_000 - 11_644_473_600_000;
}

/**
 * The moments that a value may mean, in milliseconds since 1970; none when it is no date. A day and a month that may be
 * exchanged make two.
 *
 * `2026-03-01T00:00:00Z`; `2030-01-15 10:30:00.5+00` of PostgreSQL; `31.12.2025`; `20260301` and `20260301120000Z`;
 * seconds, milliseconds or microseconds since 1970; FILETIME of Windows.
 */
function momentsOf(value: unknown): number[] {
  const text = String(value).trim();
  if (/^-infinity$/i.test(text)) return [Number.NEGATIVE_INFINITY];
  const [, year, month, day, hour = '0', minute = '0', second = '0'] =
    /^((?:19|20)\d\d)(0[1-9]|1[0-2])([0-2]\d|3[01])(?:T?([01]\d|2[0-3])([0-5]\d)([0-5]\d)?(?:[.,]\d+)?)?Z?$/.exec(
      text,
    ) ?? [];
  if (year !== undefined && text.length !== 10) {
    return [Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))];
  }
  if (/^\d{9,18}$/.test(text)) return [ofDigits(Number(text), text.length)];
  const parts = /^(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:,?[ T]+(\d{1,2}):(\d\d).*)?$/.exec(text);
  if (parts) return ofParts(parts);
  const iso = text.replace(/^(\d{4}-\d\d-\d\d) /, '$1T').replace(/(:\d.*?) ?([+-]\d\d)$/, '$1$2:00');
  const parsed = /\d{4}/.test(text) ? Date.parse(iso) : Number.NaN;
  return Number.isNaN(parsed) ? [] : [parsed];
}

function ofDigits(number: number, digits: number): number {
  if (digits <= 11) return number * 1000;
  if (digits <= 14) return number;
  return digits <= 16 ? number / 1000 : fromFileTime(number);
}

/** `31.12.2025` has the day first; `01/02/2025` may have either. */
function ofParts([, first, separator, second, year, hour = '0', minute = '0']: RegExpExecArray): number[] {
  const [one, other] = [Number(first), Number(second)];
  const at = (day: number, month: number) =>
    month >= 1 && month <= 12 && day >= 1 && day <= 31
      ? [Date.UTC(Number(year), month - 1, day, Number(hour), Number(minute))]
      : [];
  return separator === '.' ? at(one, other) : [...at(one, other), ...at(other, one)];
}

function meaningOf(value: unknown, words: StateWords): Meaning | Note {
  if (isEmpty(value)) return emptyNote(words.field);
  const text = wordOf(value);
  for (const meaning of ['deleted', 'inactive', 'locked', 'active'] as const) {
    if (listed(words[meaning]).has(text)) return meaning;
  }
  if (words.active === '*') return 'active';
  return unreadNote(words.field, value);
}

const LISTS = new Map<string, ReadonlySet<string>>();

function listed(words: string | undefined): ReadonlySet<string> {
  if (words === undefined) return new Set();
  const known = LISTS.get(words) ?? new Set(words.split(/\s+/).map(wordOf));
  LISTS.set(words, known);
  return known;
}

/** Without case, accents and punctuation: `USER_STATE_ACTIVE` and `userStateActive` are one word. */
function wordOf(value: unknown): string {
  if (!['string', 'number', 'boolean', 'bigint'].includes(typeof value)) return '';
  // The sign of a number is a part of it, and a question mark a doubt.
  if (/^\s*-\d|[?？؟]/.test(String(value))) return String(value).trim();
  return String(value)
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/** What the words of many systems mean, for fields that may come from any. */
export const COMMON_WORDS: Omit<StateWords, 'field'> = {
  active: `active enabled confirmed initial activated valid approved verified ok 1 yes true a aktiv aktiviert actif activo
    activa attivo ativo ativa aktywny actief normal live validuser allowed userstateactive userstateinitial
    ${STATE_WORDS.active}`,
  inactive: `inactive disabled blocked suspended banned deactivated 0 no false i inaktiv deaktiviert inactif inactivo
    inactiva inattivo inativo nieaktywny gesperrt blockiert bloque bloqueado sperrt pending invited unconfirmed
    unverified unapproved closed archived expired draft terminated revoked rejected denied canceled cancelled quarantined
    deprovisioned staged frozen forbidden userstateinactive userstatesuspend userstateblocked
    ${STATE_WORDS.inactive} ${STATE_WORDS.left}`,
  locked: `locked lockedout userstatelocked ${STATE_WORDS.locked}`,
  deleted: `deleted removed erased userstatedeleted ${STATE_WORDS.deleted}`,
};

function commonMeaning(value: unknown): Meaning | undefined {
  const meaning = meaningOf(value, { field: '', ...COMMON_WORDS });
  return typeof meaning === 'string' ? meaning : undefined;
}

/** Whether a value is a word for a state in many systems. One or two letters may be the code of a region. */
export function isStateWord(value: unknown): boolean {
  return wordOf(value).length > 2 && commonMeaning(value) !== undefined;
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    (typeof value === 'string' && /^[ \t\r\n]*(?:null|none|nil|\\N|\(null\)|<null>)?[ \t\r\n]*$/i.test(value))
  );
}

/** The dates that programs write for none. */
const NO_DATE = /^(?:0{4}-0{2}-0{2}|0001-01-01|1970-01-01)(?:[T ]00:00:00(?:\.0+)?)?(?: ?(?:Z|UTC|[+-]00(?::?00)?))?$/i;

function isNoDate(value: unknown): boolean {
  return typeof value === 'string' && NO_DATE.test(value.trim());
}

/** A date, a number other than 0, or the cross of a list: `2023-01-02 03:04:05`, `1650000000000`, `x`. */
function isMark(value: unknown): boolean {
  const text = String(value).trim();
  return /^x$/i.test(text) || /^-?\d*[1-9]\d*$/.test(text) || DATE.test(text);
}

/** Numbers with the separators of a date, or a month in words. */
const DATE =
  /^(?:\w{3},? )?(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,2}[. -]+[A-Za-z]{3,9}[. -]+\d{4}|[A-Za-z]{3,9} \d{1,2},? \d{4})/;

const LONGEST_SHOWN = 40;

function unreadNote(field: string, value: unknown): Note {
  const text = typeof value === 'object' ? 'an object' : JSON.stringify(shownValue(String(value), LONGEST_SHOWN));
  return {
    id: 'STATE-UNKNOWN',
    message: `The value ${text} of ${field} does not say whether the user is active; the user is imported as inactive.`,
  };
}

function keptOutNote(field: string, value: unknown): Note {
  return {
    id: 'STATE-ELSEWHERE',
    message: `The value ${JSON.stringify(value)} of ${field} says that the user may not sign in; the user is imported as inactive.`,
  };
}

function emptyNote(field: string): Note {
  return {
    id: 'STATE-UNKNOWN',
    message: `${field} has no value, so nothing says that the user is active; the user is imported as inactive.`,
  };
}

/** The rules of both. */
export function joinRules(one: StateRules, other: StateRules): StateRules {
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])] as (keyof StateRules)[];
  return Object.fromEntries(keys.map((key) => [key, [...(one[key] ?? []), ...(other[key] ?? [])]]));
}

/** The fields of the rules, without those that say nothing. */
export function fieldsIn({ words = [], others, ...rules }: StateRules): string[] {
  return [...Object.values(rules).flat(), ...words.map(({ field }) => field)];
}

const MEANINGS = Object.entries(STATE_NAMES) as [keyof typeof STATE_NAMES, string][];
const MEANING_BY_NAME = new Map(
  MEANINGS.flatMap(([meaning, names]) => names.split(/\s+/).map((name) => [name, meaning])),
);

/** What the name of a field says of the user's state. */
export function stateMeaning(field: string): NameMeaning | undefined {
  return MEANING_BY_NAME.get(plainName(field)) ?? meaningOfName(field);
}

/** The rules of the fields whose names mean a state in many systems. @param fields names or paths of a record's fields */
export function commonRules(fields: Iterable<string>): Omit<StateRules, 'words'> {
  const rules: Record<string, string[]> = {};
  for (const field of fields) {
    const meaning = stateMeaning(field);
    if (meaning === undefined || meaning === 'status' || meaning.startsWith('perhaps')) continue;
    rules[meaning] = [...(rules[meaning] ?? []), field];
  }
  return rules;
}

/** The paths of all fields of a record whose names may say a state, with what they say. */
export function statesNamed(record: Fields): Map<string, NameMeaning> {
  return statePaths(record, stateMeaning);
}

/** Whether a value under a name that may say a state can be left to it: a word for a state, or one that keeps nobody out. */
export function isHarmless(meaning: NameMeaning, value: unknown): boolean {
  if (meaning === 'perhaps status') return commonMeaning(value) !== undefined;
  return flagOf(value) === (meaning === 'perhaps active');
}

/** As `isHarmless`, for a record alone: words that keep out are not. Objects have fields of their own. */
function isKnownHarmless(field: string, value: unknown): boolean {
  if (isEmpty(value) || (typeof value === 'object' && typeof flagOf(value) !== 'boolean')) return true;
  const meaning = stateMeaning(field);
  if (meaning === 'perhaps status') return commonMeaning(value) === 'active';
  if (meaning === 'perhaps active' || meaning === 'perhaps inactive') return isHarmless(meaning, value);
  const word = isStateWord(value) ? commonMeaning(value) : undefined;
  return word === undefined || word === 'active';
}

const OF_PEOPLE = new Set(WORDS_OF_PEOPLE.split(/\s+/));
/** A quick look, as most values of most columns are none. */
const LIKE_THEM = /^\W{0,3}(?:no|ban|sus|bl|d[eéi]|lock|acc|ges).{0,20}$/i;

function isKeptOut(value: unknown): boolean {
  return typeof value === 'string' && LIKE_THEM.test(value) && OF_PEOPLE.has(wordOf(value));
}

/**
 * Rules of a system whose records may have more fields than it documents: its own, and those of fields with common names.
 * @param isOther whether the system does not read a field as something else
 * @returns the rules for a record; remembered for records with the same fields
 */
export function withCommonRules(own: StateRules, isOther: (name: string) => boolean = () => true) {
  const ownFields = new Set(fieldsIn(own));
  let shape = '';
  let rules = own;
  return (record: Fields): StateRules => {
    const names = Object.keys(record);
    const next = names.join('\n');
    if (next === shape) return rules;
    shape = next;
    const others = names.filter((name) => !ownFields.has(name) && isOther(name));
    const inWords = others.filter((name) => stateMeaning(name) === 'status' && !isPerhapsRegion(name, names));
    rules = joinRules(own, { ...commonRules(others), words: inWords.map((field) => ({ field, ...COMMON_WORDS })) });
    return rules;
  };
}
