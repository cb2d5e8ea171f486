/**
 * Somebody's own CSV or NDJSON: a mapping of columns says what is what.
 *
 * It is recognized only where no system is: any file with a column for addresses will do.
 */
import { explainMapping, givenMapping, type MappedField, type Mapping, mappingFor, valueAt } from './mapping.ts';
import type { Note, Person } from './person.ts';
import type { Convert, ConvertOptions, Fields, Format, JsonPath, Source } from './source.ts';
import { boolAt, textAt } from './values.ts';

/** Under these names programs put their lists of users. */
const LISTS: readonly JsonPath[] = [
  ['users', '*'],
  ['data', '*'],
  ['results', '*'],
];

/** Less than any system's own certainty. */
const FALLBACK = 0.05;

const STATE_UNKNOWN: Note = {
  id: 'STATE-UNKNOWN',
  message: 'The state is neither active, inactive nor locked; the user comes in inactive.',
};
const GENDER_UNKNOWN: Note = {
  id: 'GENDER-DROPPED',
  message: 'The gender is none of those that there are; it is dropped.',
};

function mapped(name: string, title: string, formats: readonly Format[]): Source {
  return {
    name,
    title,
    formats,
    jsonPaths: LISTS,
    recognizes: (record, format) =>
      formats.includes(format) && mappingFor(record, { columns: {}, metadata: {} }).columns.email !== undefined
        ? FALLBACK
        : 0,
    explain: (record, options) => explainMapping(record, givenMapping(options)),
    converter,
  };
}

export const csv = mapped('csv', 'CSV of your own', ['csv']);
export const ndjson = mapped('ndjson', 'NDJSON of your own', ['ndjson', 'json']);

function converter(options: ConvertOptions): Convert {
  const given = givenMapping(options);
  let shape = '';
  let mapping: Mapping = given;
  return (record) => {
    // Rows of one file have the same columns; lines of NDJSON may leave some out.
    const next = Object.keys(record).join('\n');
    if (next !== shape) mapping = mappingFor(record, given);
    shape = next;
    return toPerson(record, mapping);
  };
}

function toPerson(record: Fields, { columns, metadata }: Mapping): Person {
  // By field, so that the readers of values can be used.
  const values: Fields = {};
  for (const [field, column] of Object.entries(columns)) values[field] = valueAt(record, column);
  const notes: Note[] = [];
  const text = (field: MappedField) => textAt(values, field);
  const { password, hash } = secret(values);
  return {
    orgId: text('orgId'),
    userId: text('userId'),
    userName: text('userName'),
    email: text('email'),
    emailVerified: isVerified(values, 'emailVerified'),
    firstName: text('firstName'),
    lastName: text('lastName'),
    displayName: text('displayName'),
    nickName: text('nickName'),
    language: text('language'),
    gender: genderOf(text('gender'), notes),
    phone: text('phone'),
    phoneVerified: isVerified(values, 'phoneVerified'),
    state: stateOf(values, notes),
    password,
    hash,
    passwordChangeRequired: boolAt(values, 'passwordChangeRequired'),
    totp: text('totp'),
    metadata: Object.fromEntries(Object.entries(metadata).map(([key, column]) => [key, valueAt(record, column)])),
    notes,
  };
}

/** A date is that of the verification, as tables such as those of Auth.js have it. */
function isVerified(values: Fields, field: MappedField): boolean | undefined {
  const text = textAt(values, field);
  return text !== undefined && /^[12][0-9]{3}-[01][0-9]-[0-3][0-9](?:[T ]|$)/.test(text) ? true : boolAt(values, field);
}

/** A password may begin or end with a space; a hash does not. */
function secret(values: Fields): { password: string | undefined; hash: string | undefined } {
  const { password } = values;
  const isPlain = typeof password === 'string' && password !== '';
  return { password: isPlain ? password : undefined, hash: textAt(values, 'hash') };
}

const INACTIVE = [
  'inactive',
  'disabled',
  'blocked',
  'suspended',
  'banned',
  'deactivated',
  'deleted',
  'userstateinactive',
];
const LOCKED = ['locked', 'lockedout', 'userstatelocked'];
const ACTIVE = ['active', 'enabled', 'confirmed', 'initial', 'userstateactive'];

function stateOf(values: Fields, notes: Note[]): Person['state'] {
  const state = textAt(values, 'state')
    ?.toLowerCase()
    .replace(/[^a-z]/g, '');
  if (boolAt(values, 'locked') === true || LOCKED.includes(state ?? '')) return 'locked';
  if (boolAt(values, 'enabled') === false || boolAt(values, 'disabled') === true) return 'inactive';
  if (state === undefined || ACTIVE.includes(state)) return undefined;
  if (!INACTIVE.includes(state)) notes.push(STATE_UNKNOWN);
  return 'inactive';
}

const GENDERS: Readonly<Record<string, Person['gender']>> = {
  f: 'GENDER_FEMALE',
  female: 'GENDER_FEMALE',
  m: 'GENDER_MALE',
  male: 'GENDER_MALE',
  d: 'GENDER_DIVERSE',
  x: 'GENDER_DIVERSE',
  diverse: 'GENDER_DIVERSE',
};

function genderOf(text: string | undefined, notes: Note[]): Person['gender'] {
  if (text === undefined) return undefined;
  const key = text.toLowerCase().replace(/^gender_/, '');
  const gender = Object.hasOwn(GENDERS, key) ? GENDERS[key] : undefined;
  if (!gender && key !== 'unspecified') notes.push(GENDER_UNKNOWN);
  return gender;
}
