import { hashProblem } from '../../passwords/registry.ts';
import type { Note, Person } from '../entry.ts';
import { namedHash, passwordHashIn, placeOf } from '../hashes.ts';
import { UsageError } from '../read/records.ts';
import type { Convert, ConvertOptions, ExportFormat, Fields, Format } from '../source.ts';
import { boolAt, CONTEXT, isFields, objectAt, textAt } from '../values.ts';

/**
 * Custom CSV or NDJSON files, read with a mapping from columns to fields of a person: as `--map` says, else by common
 * names. They are recognized only if no system is: any file with a column of email addresses qualifies.
 *
 * An unmapped column named `password` counts only if it holds hashes; plain passwords are imported only if mapped.
 */

/** Lower than the certainty of any system. */
const FALLBACK = 0.05;

function mapped(name: string, title: string, formats: readonly Format[]): ExportFormat {
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
      const { place } = isPlain(given)
        ? {}
        : mappedHash(record, mappingFor(record, given), { isGiven: isHashGiven(given) });
      return explainMapping(record, given, place);
    },
    converter,
  };
}

/**
 * Common names, in lower case and without punctuation. `enabled` and similar names are not fields; they give the state.
 */
const USUAL = {
  userId: ['userid', 'id', 'uid', 'uuid', 'guid', 'sub', 'externalid'],
  userName: ['username', 'login', 'loginname', 'userlogin', 'userprincipalname', 'upn', 'account', 'accountname'],
  email: ['email', 'mail', 'emailaddress', 'useremail', 'primaryemail'],
  emailVerified: [
    'emailverified',
    'isemailverified',
    'verifiedemail',
    'emailaddressverified',
    'emailverifiedat',
    'emailconfirmed',
    'isemailconfirmed',
    'emailconfirmedat',
    'verified',
    'isverified',
    'confirmed',
  ],
  firstName: ['firstname', 'givenname', 'forename', 'vorname', 'prenom'],
  lastName: ['lastname', 'familyname', 'surname', 'sn', 'nachname', 'nom'],
  displayName: ['displayname', 'name', 'fullname', 'cn', 'commonname'],
  nickName: ['nickname', 'nick'],
  language: ['language', 'preferredlanguage', 'locale', 'lang', 'langkey'],
  gender: ['gender', 'sex'],
  phone: ['phone', 'phonenumber', 'mobile', 'mobilephone', 'telephonenumber', 'cell'],
  phoneVerified: ['phoneverified', 'phonenumberverified', 'isphoneverified', 'phoneconfirmed'],
  state: ['state', 'status', 'userstate', 'accountstatus'],
  enabled: ['enabled', 'active', 'isactive', 'isenabled', 'activated'],
  disabled: ['disabled', 'blocked', 'suspended', 'banned', 'isdisabled', 'isblocked', 'deactivated'],
  locked: ['locked', 'islocked', 'lockedout'],
  hash: ['passwordhash', 'hashedpassword', 'hash', 'passworddigest', 'encryptedpassword', 'pwhash', 'userpass'],
  password: ['password', 'passwd', 'pwd', 'userpassword'],
  passwordChangeRequired: ['passwordchangerequired', 'mustchangepassword', 'forcepasswordchange'],
  totp: ['totp', 'totpsecret', 'otpsecret'],
  orgId: ['orgid', 'organizationid', 'organisationid'],
} as const satisfies Record<string, readonly string[]>;

export type MappedField = keyof typeof USUAL;

interface Mapping {
  /** Column, or path of NDJSON such as `profile.mail`, by field. */
  columns: Partial<Record<MappedField, string>>;
  /** Column, or path, by metadata key. */
  metadata: Record<string, string>;
}

/** Whether the caller named a column of plain passwords. */
function isPlain({ columns }: Mapping): boolean {
  return columns.password !== undefined;
}

function isHashGiven({ columns }: Mapping): boolean {
  return columns.hash !== undefined;
}

const PASSWORD_UNSAID: Note = {
  id: 'PASSWORD-UNSAID',
  message:
    'The password column holds no known hash. Use --map password=COLUMN for plain passwords, --map hash=COLUMN for other hashes.',
};

const LOCKED = ['locked', 'lockedout', 'userstatelocked'];
const ACTIVE = ['active', 'enabled', 'confirmed', 'initial', 'userstateactive'];

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

const STATE_UNKNOWN: Note = {
  id: 'STATE-UNKNOWN',
  message: 'The state is not active, inactive or locked; the user is imported as inactive.',
};

const GENDERS: Readonly<Record<string, Person['gender']>> = {
  f: 'GENDER_FEMALE',
  female: 'GENDER_FEMALE',
  m: 'GENDER_MALE',
  male: 'GENDER_MALE',
  d: 'GENDER_DIVERSE',
  x: 'GENDER_DIVERSE',
  diverse: 'GENDER_DIVERSE',
};

const GENDER_UNKNOWN: Note = {
  id: 'GENDER-DROPPED',
  message: 'The gender is not female, male or diverse; it is dropped.',
};

const MAPPED_FIELDS = Object.keys(USUAL) as MappedField[];
const METADATA = 'metadata.';

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

type Secret = Pick<Person, 'password' | 'hash'>;

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
    const found = mappedHash(record, mapping, { isGiven: isHashGiven(given) });
    if (found.isUnsaid) notes.push(PASSWORD_UNSAID);
    return { hash: found.hash };
  }
}

/** The value at a column, or at a path: `profile.mail`. */
function valueAt(record: Fields, column: string | undefined): unknown {
  if (column === undefined) return undefined;
  if (Object.hasOwn(record, column)) return record[column];
  let value: unknown = record;
  for (const name of column.split('.')) value = isFields(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** A password may begin or end with a space; a hash does not. */
function plainPassword(values: Fields): Secret {
  const { password } = values;
  return {
    password: typeof password === 'string' && password !== '' ? password : undefined,
    hash: textAt(values, 'hash'),
  };
}

/** A date is the time of verification, as in Auth.js tables, and counts as true. */
function isVerified(values: Fields, field: MappedField): boolean | undefined {
  const text = textAt(values, field);
  return text !== undefined && /^[12][0-9]{3}-[01][0-9]-[0-3][0-9](?:[T ]|$)/.test(text) ? true : boolAt(values, field);
}

function genderOf(text: string | undefined, notes: Note[]): Person['gender'] {
  if (text === undefined) return undefined;
  const key = text.toLowerCase().replace(/^gender_/, '');
  const gender = Object.hasOwn(GENDERS, key) ? GENDERS[key] : undefined;
  if (!gender && key !== 'unspecified') notes.push(GENDER_UNKNOWN);
  return gender;
}

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

interface MappedHash {
  hash?: string;
  /** Where it was found, if not in a mapped column: `password.value`. */
  place?: string;
  /** There is a password, but no clear hash of it. */
  isUnsaid?: boolean;
}

/**
 * The password hash of a record: in the column of hashes, in a column of passwords, or elsewhere in the record if it is
 * clearly the password's.
 * @param options isGiven: the caller named the column of hashes, so no other place is searched
 */
function mappedHash(record: Fields, { columns }: Mapping, { isGiven }: { isGiven: boolean }): MappedHash {
  const values = { hash: valueAt(record, columns.hash), password: valueAt(record, columns.password) };
  const hash = textAt(values, 'hash');
  const password = textAt(values, 'password');
  if (hash !== undefined) return { hash };
  if (!isGiven && password !== undefined && isWholeHash(password)) return { hash: password };
  const found = isGiven ? undefined : passwordHashIn(record);
  if (found) return { hash: found.text, place: placeOf(found) };
  const isObject = typeof values.password === 'object' && values.password !== null;
  return { isUnsaid: password !== undefined || isObject };
}

/** A complete hash that begins with its scheme's name, such as `$2b$10$…`, is never a plain password. */
function isWholeHash(text: string): boolean {
  return namedHash(text) !== undefined && hashProblem(text) === undefined;
}

/** Parses `--map`. @throws UsageError when it names an unknown field */
export function givenMapping({ map = {} }: ConvertOptions): Mapping {
  const mapping: Mapping = { columns: {}, metadata: {} };
  for (const [field, column] of Object.entries(map)) {
    if (field.startsWith(METADATA) && field.length > METADATA.length) {
      mapping.metadata[field.slice(METADATA.length)] = column;
    } else if (Object.hasOwn(USUAL, field)) mapping.columns[field as MappedField] = column;
    else
      throw new UsageError(
        `--map: there is no field "${field}". Use one of ${MAPPED_FIELDS.join(', ')}, metadata.<key>.`,
      );
  }
  return mapping;
}

/** The given mapping, completed by columns with common names. */
export function mappingFor(record: Fields, given: Mapping): Mapping {
  const taken = new Set([...Object.values(given.columns), ...Object.values(given.metadata)]);
  // The first column of each plain name, as a record may have very many columns.
  const free = new Map<string, string>();
  for (const column of Object.keys(record)) {
    if (taken.has(column)) continue;
    const name = plain(column);
    if (!free.has(name)) free.set(name, column);
  }
  const columns = { ...given.columns };
  for (const field of MAPPED_FIELDS) {
    if (columns[field] !== undefined) continue;
    const names: readonly string[] = USUAL[field];
    const found = names.map((name) => free.get(name)).find((column) => column !== undefined);
    if (found !== undefined) columns[field] = found;
  }
  return { columns, metadata: given.metadata };
}

function plain(column: string): string {
  return column.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/**
 * Lines that list the mapped and the unmapped columns.
 * @param hashPlace where a hash was found outside mapped columns
 */
function explainMapping(record: Fields, given: Mapping, hashPlace?: string): string[] {
  const { columns: named, metadata } = mappingFor(record, given);
  const columns = hashPlace === undefined ? named : { ...named, hash: hashPlace };
  const fields = [
    ...Object.entries(columns),
    ...Object.entries(metadata).map(([key, column]) => [METADATA + key, column]),
  ];
  const pairs = fields.map(([field, column]) => `${field}=${column}`);
  const used = fields.map(([, column]) => column?.split('.')[0]);
  const unused = Object.keys(record).filter(
    (column) => column !== CONTEXT && !Object.values(columns).includes(column) && !used.includes(column),
  );
  return [
    `  taken: ${pairs.length === 0 ? 'nothing' : pairs.join(', ')}`,
    ...(unused.length === 0 ? [] : [`  not taken: ${unused.join(', ')} (--map field=column takes them)`]),
  ];
}
