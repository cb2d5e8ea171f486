/**
 * Custom CSV or NDJSON files, read with a mapping from columns to fields of a person: as `--map` says, else by common
 * names. They are recognized only if no system is: any file with a column of email addresses qualifies.
 *
 * An unmapped column named `password` counts only if it holds hashes; plain passwords are imported only if mapped, or if
 * they say that they are one (`{PLAIN}secret`, `PasswordFormat` 0).
 */
import type { PasswordForm } from '../../passwords/forms.ts';
import { hashProblem, schemeOf } from '../../passwords/registry.ts';
import type { Note, Person, Skipped } from '../entry.ts';
import { codesIn } from '../factors.ts';
import { explainFormat, isHashBeside } from '../hash-format.ts';
import { isBareDigest, knownForm, plainOf } from '../hash-forms.ts';
import { columnValue, hashSystemOf } from '../hash-systems.ts';
import { isLikeHash, membershipSecret, namedHash, passwordHashIn, placeOf } from '../hashes.ts';
import {
  type Decided,
  type GivenMapping,
  givenMapping,
  hasNested,
  type MappedField,
  type Mapping,
  METADATA,
  mappingFor,
  shapeOf,
} from '../mapping.ts';
import { anySecondFactor } from '../second-factor.ts';
import type { Convert, ConvertOptions, ExportFormat, Fields, Format } from '../source.ts';
import { fieldsIn, readState } from '../states.ts';
import { isNoPassword, surveyOf } from '../survey.ts';
import { boolAt, CONTEXT, KEY, objectAt, plainName, shownValue, textAt, valueAt } from '../values.ts';
import { genderNamed } from '../words.ts';

/** Lower than the certainty of any system. */
const FALLBACK = 0.05;

function mapped(name: string, title: string, formats: readonly Format[]): ExportFormat {
  return {
    name,
    title,
    formats,
    recognizes: (record, format) => (formats.includes(format) && isPerson(record) ? FALLBACK : 0),
    explain(record, options) {
      const given = givenMapping(options);
      const { place, hash } = isPlain(given) ? {} : mappedHash(record, mappingFor(record, given), options);
      const format = hash === undefined ? undefined : explainFormat(record, hash, options);
      return [...explainMapping(record, given, place), ...(format === undefined ? [] : [format])];
    },
    survey: (options) => surveyOf(givenMapping(options), (given, decided) => converterOf(given, options, decided)),
    converter: (options) => converterOf(givenMapping(options), options),
  };
}

/** It has an address; or a hash, if it has the key of an object keyed by user or comes from a file of names and hashes. */
function isPerson(record: Fields): boolean {
  const { columns } = mappingFor(record, { columns: {}, metadata: {} });
  if (columns.email !== undefined) return true;
  const hash = textAt(record, columns.hash ?? '') ?? textAt(record, columns.password ?? '');
  const isNamed = Object.hasOwn(record, KEY) || Object.keys(record).length === 2;
  return isNamed && columns.userName !== undefined && hash !== undefined && isWholeHash(hash);
}

/** Whether the caller named a column of plain passwords. */
function isPlain({ columns }: GivenMapping): boolean {
  return columns.password !== undefined && columns.password !== '';
}

const PASSWORD_UNSAID: Note = {
  id: 'PASSWORD-UNSAID',
  message:
    'The password column holds no known hash. Use --map password=COLUMN for plain passwords, --map hash=COLUMN for other hashes.',
};

const STATE_OF_ADDRESS: Note = {
  id: 'STATE-OF-ADDRESS',
  message: 'The column of states holds regions of addresses, and is not read as the state of the user.',
};

const GENDER_UNKNOWN: Note = {
  id: 'GENDER-DROPPED',
  message: 'The gender is not female, male or diverse; it is dropped.',
};

export const csv = mapped('csv', 'CSV of your own', ['csv']);

export const ndjson = mapped('ndjson', 'NDJSON of your own', ['ndjson', 'json']);

function converterOf(given: GivenMapping, options: ConvertOptions, decided?: Decided): Convert {
  const regions = decided?.regions ?? [];
  let shape = '';
  let mapping: Mapping = { ...given, states: {} };
  return (record) => {
    // Rows of one file have the same columns; lines of NDJSON may omit some.
    const next = shapeOf(record);
    if (next !== shape || hasNested(record)) mapping = mappingFor(record, given, decided);
    shape = next;
    const person = toPerson(record, mapping, { given, options, isSpanish: decided?.isSpanish ?? false });
    if (!('skip' in person) && regions.some((column) => textAt(record, column) !== undefined)) {
      person.notes = [...(person.notes ?? []), STATE_OF_ADDRESS];
    }
    return person;
  };
}

type Secret = Pick<Person, 'password' | 'hash'>;

/** @param as the part of the mapping that the caller named, and all options */
function toPerson(
  record: Fields,
  mapping: Mapping,
  { given, options, isSpanish }: { given: GivenMapping; options: ConvertOptions; isSpanish: boolean },
): Person | Skipped {
  const { columns, metadata } = mapping;
  // Collected by field, for the functions that read values.
  const values: Fields = {};
  for (const [field, column] of Object.entries(columns)) values[field] = valueAt(record, column);
  const { state, skip, notes } = readState(record, mapping.states);
  if (skip !== undefined) return { skip };
  const text = (field: MappedField) => textAt(values, field);
  const initialPassword = values.initialPassword;
  const factor = anySecondFactor(record);
  if (given.columns.totp === undefined) notes.push(...factor.notes);
  const { password, hash } = isPlain(given) ? plainPassword(values, notes) : hashAlone();
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
    gender: genderOf(text('gender'), isSpanish, notes),
    phone: text('phone'),
    phoneVerified: isVerified(values, 'phoneVerified'),
    state,
    password,
    passwordForms: formsOf(record, hash, options),
    ...(typeof initialPassword === 'string' && initialPassword !== '' ? { initialPassword } : {}),
    hash,
    passwordChangeRequired: boolAt(values, 'passwordChangeRequired'),
    totp: given.columns.totp === undefined ? factor.totp : text('totp'),
    recoveryCodes: codesIn(values.recoveryCodes),
    metadata: Object.fromEntries(Object.entries(metadata).map(([key, column]) => [key, valueAt(record, column)])),
    notes,
  };

  function hashAlone(): Secret {
    const { notes: secretNotes = [], ...secret } = membershipOf(record, options) ?? {};
    notes.push(...secretNotes);
    if (Object.keys(secret).length > 0) return secret;
    const found = mappedHash(record, mapping, options);
    if (found.isUnsaid) notes.push(PASSWORD_UNSAID);
    return { hash: found.hash };
  }
}

const PASSWORD_NONE: Note = {
  id: 'PASSWORD-NONE',
  message: 'The password is a word or a dash that programs write for none, and nobody’s password; it is dropped.',
};

const PASSWORD_HASHED: Note = {
  id: 'PASSWORD-HASHED',
  message:
    'The plain password looks like a hash, and whoever has the file could sign in with it; it is dropped. --map hash=COLUMN takes hashes.',
};

function hashProblemOf(password: string): Note | undefined {
  return isLikeHash(password.trim()) ? PASSWORD_HASHED : undefined;
}

/** A password may begin or end with a space; a hash does not. */
function plainPassword(values: Fields, notes: Note[]): Secret {
  const { password } = values;
  const isGiven = typeof password === 'string' && password !== '';
  const problem = !isGiven ? undefined : isNoPassword(password) ? PASSWORD_NONE : hashProblemOf(password);
  if (problem) notes.push(problem);
  return {
    password: isGiven && !problem ? password : undefined,
    hash: textAt(values, 'hash'),
  };
}

/** A date is the time of verification, as in Auth.js tables, and counts as true. */
function isVerified(values: Fields, field: MappedField): boolean | undefined {
  return boolAt(values, field) ?? (isDate(textAt(values, field)) ? true : undefined);
}

/** Numbers with the separators of a date, or with a month in words. */
const DATE = /^(?:\w{3,9}, ?)?(?:[0-3]?\d|[12]\d{3})[-/. ](?:[01]?\d|[a-z]{3,9})[-/. ](?:[12]\d{3}|[0-3]?\d)(?:\D|$)/i;
const MONTH_FIRST =
  /^[01]?\d\/[0-3]?\d\/[12]\d{3}(?:\D|$)|^[a-z]{3,9}\.? [0-3]?\d(?:,|st|nd|rd|th)?,? [12]\d{3}(?:\D|$)/i;
/** Seconds, or smaller parts of them, since 1970; or year to second without separators. */
const MOMENT = /^[1-9]\d{8,18}(?:\.\d+)?$/;

/** Whether a text is a date in a form that programs write. None of them has a year 0. */
function isDate(text: string | undefined): boolean {
  return text !== undefined && !/^0000/.test(text) && [DATE, MONTH_FIRST, MOMENT].some((form) => form.test(text));
}

function genderOf(text: string | undefined, isSpanish: boolean, notes: Note[]): Person['gender'] {
  if (text === undefined) return undefined;
  if (isSpanish && /^m\.?$/i.test(text)) return 'GENDER_FEMALE';
  const gender = genderNamed(text);
  if (gender === undefined) notes.push(GENDER_UNKNOWN);
  return gender === 'GENDER_UNSPECIFIED' ? undefined : gender;
}

interface MappedHash {
  hash?: string;
  /** Where it was found, if not in a mapped column: `password.value`. */
  place?: string;
  /** There is a password, but no clear hash of it. */
  isUnsaid?: boolean;
}

/**
 * The password hash of a record: in the column of hashes, in a column of passwords, or elsewhere in the record if it is
 * clearly the password's, or in the column of a system that is known by its columns. If the caller named the column of
 * hashes, no other place is searched.
 */
function mappedHash(record: Fields, { columns }: GivenMapping, options: ConvertOptions): MappedHash {
  const values = { hash: valueAt(record, columns.hash), password: valueAt(record, columns.password) };
  const hash = textAt(values, 'hash');
  const password = textAt(values, 'password');
  const isObject = typeof values.password === 'object' && values.password !== null;
  const isUnsaid = password !== undefined || isObject;
  if (hash !== undefined) return { hash };
  if (options.map?.hash !== undefined) return { isUnsaid };
  if (password !== undefined && isWholeHash(password)) return { hash: password };
  const found = passwordHashIn(record);
  if (found) return { hash: found.text, place: placeOf(found) };
  const place = hashSystemOf(record)?.hash;
  const ofSystem =
    place === undefined ? undefined : (columnValue(record, place) ?? textAt({ at: valueAt(record, place) }, 'at'));
  if (ofSystem !== undefined) return { hash: ofSystem, place: place as string };
  const isHash = password !== undefined && isHashBeside(record, password, options);
  return isHash ? { hash: password, place: columns.password as string } : { isUnsaid };
}

/** A complete hash that begins with its scheme's name, such as `$2b$10$…`, is never a plain password. */
export function isWholeHash(text: string): boolean {
  const known = knownForm(text);
  if (plainOf(text) !== undefined) return true;
  return (namedHash(text) !== undefined || known !== text) && hashProblem(known) === undefined;
}

const MEMBERSHIP = ['PasswordFormat', 'PasswordSalt', 'Password'];

/** A row of aspnet_Membership, by the names of its columns, unless the caller says where or how hashes are. */
function membershipOf(
  record: Fields,
  { hashFormat, map }: ConvertOptions,
): (ReturnType<typeof membershipSecret> & Pick<Person, 'notes' | 'password'>) | undefined {
  if (hashFormat !== undefined || map?.hash !== undefined) return undefined;
  const names = new Map(Object.keys(record).map((name) => [plainName(name), name]));
  const [format, salt, password] = MEMBERSHIP.map((name) => textAt(record, names.get(plainName(name)) ?? ''));
  if (format === undefined || salt === undefined || password === undefined) return undefined;
  return membershipSecret(password, format, salt);
}

/** What a system does to passwords, by the columns that only its table has. */
const TABLES: readonly { columns: readonly string[]; forms: readonly PasswordForm[] }[] = [
  { columns: ['password_hash', 'is_guest', 'appservice_id'], forms: ['nfkc'] },
  { columns: ['username_clean', 'user_password'], forms: ['html'] },
  { columns: ['uid', 'pass', 'mail', 'init'], forms: ['trim'] },
];

function formsOf(
  record: Fields,
  hash: string | undefined,
  { hashFormat }: ConvertOptions,
): readonly PasswordForm[] | undefined {
  if (hash === undefined) return undefined;
  const table = TABLES.find(({ columns }) => columns.every((column) => Object.hasOwn(record, column)));
  if (table) return table.forms;
  const known = knownForm(hash);
  // Only a formula says that another text is a digest.
  const isDigest = isBareDigest(known) || (hashFormat !== undefined && hashProblem(known) !== undefined);
  const scheme = schemeOf(known) ?? '';
  // Many programs wrapped the digests that they had, and their hashes look like those of passwords.
  if (hashFormat === undefined && MAY_WRAP.test(scheme)) return ['latin1', 'digest'];
  return isDigest || OF_MANY_PROGRAMS.test(scheme) ? ['latin1'] : undefined;
}

/** Schemes that programs of all ages and encodings use. */
const OF_MANY_PROGRAMS =
  /^(?:bcrypt(?: \$2x\$)?$|argon2|scrypt|pbkdf2|phpass|yescrypt|(?:sha2|md5|apr1|sha1|des|bsdi)-crypt|\{(?:CRYPT|BCRYPT|ARGON2|PBKDF2.*)\})/;

/** Schemes that programs make of passwords or of older digests; a formula such as `crypt(password)` says of which. */
const MAY_WRAP = /^(?:bcrypt|argon2.*|scrypt|phpass|sha2-crypt .*)$/;

/**
 * Lines that list the mapped and the unmapped columns.
 * @param hashPlace where a hash was found outside mapped columns
 */
function explainMapping(record: Fields, given: GivenMapping, hashPlace?: string): string[] {
  const { columns: named, metadata, states } = mappingFor(record, given);
  const columns = hashPlace === undefined ? named : { ...named, hash: hashPlace };
  if (columns.password === hashPlace) delete columns.password;
  const fields = [
    ...Object.entries(columns),
    ...Object.entries(metadata).map(([key, column]) => [METADATA + key, column]),
  ].filter(([, column]) => column !== '');
  const pairs = fields.map(([field, column]) => `${field}=${column}`);
  const used = fields.flatMap(([, column = '']) => [column, column.split(/[.[]/, 1)[0] as string]);
  const moreStates = fieldsIn(states).filter((column) => !used.includes(column) || column.includes('.'));
  const heads = moreStates.flatMap((column) => [column, column.split('.', 1)[0] as string]);
  const unused = Object.keys(record).filter(
    (column) => column !== CONTEXT && column !== KEY && !used.includes(column) && !heads.includes(column),
  );
  return [
    `  taken: ${pairs.length === 0 ? 'nothing' : pairs.join(', ')}`,
    ...(moreStates.length === 0 ? [] : [`  also read for the state: ${moreStates.join(', ')}`]),
    ...(unused.length === 0
      ? []
      : [`  not taken: ${unused.map((column) => shownValue(column)).join(', ')} (--map field=column takes them)`]),
  ];
}
