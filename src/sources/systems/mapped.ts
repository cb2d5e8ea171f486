/**
 * Custom CSV or NDJSON files, read with a mapping from columns to fields.
 *
 * They are recognized only if no system is: any file with a column of email addresses qualifies.
 */

import type { Note, Person } from '../person.ts';
import type { Convert, ConvertOptions, Fields, Format, Source } from '../source.ts';
import { boolAt, objectAt, textAt } from '../values.ts';
import { mappedHash } from './mapped-hash.ts';
import { explainMapping, givenMapping, type MappedField, type Mapping, mappingFor, valueAt } from './mapping.ts';

/** Lower than the certainty of any system. */
const FALLBACK = 0.05;

const STATE_UNKNOWN: Note = {
  id: 'STATE-UNKNOWN',
  message: 'The state is not active, inactive or locked; the user is imported as inactive.',
};
const PASSWORD_UNSAID: Note = {
  id: 'PASSWORD-UNSAID',
  message:
    'The password column holds no known hash. Use --map password=COLUMN for plain passwords, --map hash=COLUMN for other hashes.',
};
const GENDER_UNKNOWN: Note = {
  id: 'GENDER-DROPPED',
  message: 'The gender is not female, male or diverse; it is dropped.',
};

function mapped(name: string, title: string, formats: readonly Format[]): Source {
  return {
    name,
    title,
    formats,
    recognizes: (record, format) =>
      formats.includes(format) && mappingFor(record, { columns: {}, metadata: {} }).columns.email !== undefined
        ? FALLBACK
        : 0,
    explain(record, options) {
      const given = givenMapping(options);
      const { place } = isPlain(given) ? {} : mappedHash(record, mappingFor(record, given), isHashGiven(given));
      return explainMapping(record, given, place);
    },
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
    // Rows of one file have the same columns; lines of NDJSON may omit some.
    const next = Object.keys(record).join('\n');
    if (next !== shape) mapping = mappingFor(record, given);
    shape = next;
    return toPerson(record, mapping, given);
  };
}

/** Whether the caller named a column of plain passwords. */
function isPlain({ columns }: Mapping): boolean {
  return columns.password !== undefined;
}

function isHashGiven({ columns }: Mapping): boolean {
  return columns.hash !== undefined;
}

/** @param given the part of the mapping that the caller named */
function toPerson(record: Fields, mapping: Mapping, given: Mapping): Person {
  const { columns, metadata } = mapping;
  // Collected by field, for the functions that read values.
  const values: Fields = {};
  for (const [field, column] of Object.entries(columns)) values[field] = valueAt(record, column);
  const notes: Note[] = [];
  const text = (field: MappedField) => textAt(values, field);
  const { password, hash } = isPlain(given) ? plainPassword(values) : hashAlone();
  return {
    orgId: text('orgId'),
    // MongoDB's ids are objects in its exports.
    userId: text('userId') ?? textAt(objectAt(values, 'userId'), '$oid'),
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

  function hashAlone(): Secret {
    const found = mappedHash(record, mapping, isHashGiven(given));
    if (found.isUnsaid) notes.push(PASSWORD_UNSAID);
    return { hash: found.hash };
  }
}

/** A date is the time of verification, as in Auth.js tables, and counts as true. */
function isVerified(values: Fields, field: MappedField): boolean | undefined {
  const text = textAt(values, field);
  return text !== undefined && /^[12][0-9]{3}-[01][0-9]-[0-3][0-9](?:[T ]|$)/.test(text) ? true : boolAt(values, field);
}

type Secret = Pick<Person, 'password' | 'hash'>;

/** A password may begin or end with a space; a hash does not. */
function plainPassword(values: Fields): Secret {
  const { password } = values;
  return {
    password: typeof password === 'string' && password !== '' ? password : undefined,
    hash: textAt(values, 'hash'),
  };
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
