/** Which column of a file of one's own becomes which field of a person: as `--map` says, else by common names. */
import { groupsOf } from './hash-systems.ts';
import { UsageError } from './read/records.ts';
import { FACTOR_SECRETS } from './second-factor.ts';
import type { ConvertOptions, Fields } from './source.ts';
import { isOfElse, isProfileFlag, type NameMeaning, STATE_NAMES, STATUS_NAMES } from './state-names.ts';
import { COMMON_WORDS, commonRules, fieldsIn, type StateRules, statesNamed } from './states.ts';
import { isFields, KEY, valueAt } from './values.ts';
import { fieldOfName, HEADINGS, headingOf } from './words.ts';

function listOf(names: string): readonly string[] {
  return names.split(/\s+/);
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
  firstName: ['firstname', 'givenname', 'forename'],
  lastName: ['lastname', 'familyname', 'surname', 'sn'],
  displayName: ['displayname', 'name', 'fullname', 'cn', 'commonname'],
  nickName: ['nickname', 'nick'],
  language: ['language', 'preferredlanguage', 'locale', 'lang', 'langkey'],
  gender: ['gender', 'sex', 'salutation'],
  phone: ['phone', 'phonenumber', 'mobile', 'mobilephone', 'telephonenumber', 'cell'],
  phoneVerified: ['phoneverified', 'phonenumberverified', 'isphoneverified', 'phoneconfirmed'],
  state: ['state', ...STATUS_NAMES],
  enabled: listOf(STATE_NAMES.active),
  disabled: [...listOf(STATE_NAMES.inactive), ...listOf(STATE_NAMES.inactiveUntil)],
  locked: [...listOf(STATE_NAMES.locked), ...listOf(STATE_NAMES.lockedUntil), ...listOf(STATE_NAMES.unlocked)],
  deleted: listOf(STATE_NAMES.deleted),
  hash: ['passwordhash', 'hashedpassword', 'hash', 'passworddigest', 'encryptedpassword', 'pwhash', 'userpass'],
  /** Used for hashes that do not contain them, see hash-format.ts. */
  salt: ['salt', 'passwordsalt', 'hashsalt', 'passsalt', 'pwsalt', 'saltvalue'],
  iterations: ['iterations', 'hashiterations', 'passworditerations', 'iterationcount', 'rounds'],
  password: ['password', 'passwd', 'pwd', 'userpassword'],
  initialPassword: [],
  passwordChangeRequired: listOf(
    'passwordchangerequired mustchangepassword forcepasswordchange forcechangepassword changepasswordatnextsignin changepasswordnextlogin passwordchangeatnextlogin',
  ),
  totp: [...FACTOR_SECRETS],
  recoveryCodes: [],
  orgId: ['orgid', 'organizationid', 'organisationid'],
} as const satisfies Record<string, readonly string[]>;

export type MappedField = keyof typeof USUAL;

/** What the caller named. */
export type GivenMapping = Pick<Mapping, 'columns' | 'metadata'>;

export interface Mapping {
  /** Column, or path of NDJSON such as `profile.mail`, by field; empty for a field that is left out. */
  columns: Partial<Record<MappedField, string>>;
  /** Column, or path, by metadata key. */
  metadata: Record<string, string>;
  /** All columns that say whether the user may sign in. */
  states: StateRules;
}

export const MAPPED_FIELDS = Object.keys(USUAL) as MappedField[];

/** Names of columns in English, then in other languages, as `headingOf` writes them; the likeliest first. */
const NAMES = new Map(
  MAPPED_FIELDS.map((field): [MappedField, readonly string[]] => [
    field,
    [...USUAL[field], ...HEADINGS.flatMap((headings) => headings[field] ?? [])],
  ]),
);

/** The columns that a field may be, the likeliest first. */
function columnsFor(field: MappedField, free: ReadonlyMap<string, string>): string[] {
  return (NAMES.get(field) ?? []).map((name) => free.get(name)).filter((column) => column !== undefined);
}
export const METADATA = 'metadata.';

/** Parses `--map`. @throws UsageError when it names an unknown field */
export function givenMapping({ map = {} }: ConvertOptions): GivenMapping {
  const mapping: GivenMapping = { columns: {}, metadata: {} };
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

/** What all values of the columns say. */
export interface Decided {
  /** Columns of states of addresses, although they are called like one of the user. */
  regions: readonly string[];
  /** Columns whose names may mean something else, and whose values are states. */
  states: readonly string[];
  /** In the column of genders `H` is written, and `F` is not: `M` is a woman, as in Spanish. */
  isSpanish: boolean;
}

/** The given mapping, completed by columns with common names. @param decided absent: columns of unclear names are states */
export function mappingFor(record: Fields, given: GivenMapping, decided?: Decided): Mapping {
  const leftOut = decided?.regions ?? [];
  const taken = new Set([...Object.values(given.columns), ...Object.values(given.metadata), ...leftOut]);
  const untaken = Object.keys(record).filter((column) => !taken.has(column));
  // The first column of each plain name, as a record may have very many columns.
  const free = new Map<string, string>();
  for (const column of untaken) {
    const name = headingOf(column);
    if (!free.has(name)) free.set(name, column);
  }
  const columns = { ...given.columns };
  for (const field of MAPPED_FIELDS) {
    if (columns[field] !== undefined) continue;
    const [found] = columnsFor(field, free);
    const nested = isNested(record, found) ? nestedPath(record, field) : undefined;
    if (nested !== undefined && !taken.has(nested)) columns[field] = nested;
    // An object has no name of an account, but perhaps its state.
    else if (found !== undefined && !(field === 'userName' && isFields(record[found]))) columns[field] = found;
  }
  addNames(columns, given, free);
  const keyed = fieldOfKey(record, columns);
  if (keyed) columns[keyed] = KEY;
  const list = listPath(columns.email);
  if (columns.emailVerified === undefined && list !== undefined) {
    const paths = ['verified', 'isVerified', 'confirmed'].map((name) => `${list}.${name}`);
    const verified = paths.find((path) => valueAt(record, path) !== undefined);
    if (verified !== undefined) columns.emailVerified = verified;
  }
  const states = statesOf(record, given, taken, decided);
  const used = new Set([...Object.values(columns), ...taken, ...fieldsIn(states)]);
  const others =
    given.columns.state === '' ? [] : Object.keys(record).filter((name) => !used.has(name) && !isOfElse(name));
  return { columns, metadata: given.metadata, states: { ...states, others } };
}

/** Columns called `Name`, `Nom` or `Nombre`, by the columns beside them. */
function addNames(columns: Mapping['columns'], given: GivenMapping, free: ReadonlyMap<string, string>): void {
  for (const [heading, column] of free) {
    const isTaken = Object.entries(columns).some(([field, one]) => one === column && field !== 'displayName');
    const field = isTaken ? undefined : fieldOfName(heading, columns);
    if (field === undefined || columns[field] !== undefined) continue;
    columns[field] = column;
    if (field === 'displayName' || columns.displayName !== column || given.columns.displayName !== undefined) continue;
    const other = columnsFor('displayName', free).find((one) => one !== column);
    if (other === undefined) delete columns.displayName;
    else columns.displayName = other;
  }
}

/** An id that a program made: a number, a UUID, or long and without a dot or an @. */
const MADE_ID = /^\d+$|^[0-9a-f-]{20,}$|^[\w-]{20,}$/i;

/** The field that the key of a record means, in an object keyed by user. */
function fieldOfKey(record: Fields, columns: Mapping['columns']): MappedField | undefined {
  const key = record[KEY];
  if (typeof key !== 'string') return undefined;
  const fields: MappedField[] = MADE_ID.test(key)
    ? ['userId']
    : key.includes('@')
      ? ['email', 'userName', 'userId']
      : ['userName', 'userId'];
  return fields.find((field) => columns[field] === undefined);
}

const FIRST = ['[primary=true]', '.0'];
const ADDRESS = ['address', 'value', 'email'];
const NUMBER = ['number', 'value', 'phone', 'phoneNumber'];

/** Where many systems keep a field inside objects and lists, the best first. */
const NESTED: Partial<Record<MappedField, readonly string[]>> = {
  email: [...inLists(['emails', 'emailAddresses', 'email_addresses'], ADDRESS), ...inObject('email', ADDRESS)],
  phone: [...inLists(['phones', 'phoneNumbers', 'phone_numbers'], NUMBER), ...inObject('phone', NUMBER)],
  firstName: [
    ...inObject('name', ['first', 'given', 'givenName', 'firstName', 'first_name']),
    ...inObject('profile', ['firstName', 'first_name', 'givenName', 'given_name']),
  ],
  lastName: [
    ...inObject('name', ['last', 'family', 'familyName', 'lastName', 'last_name']),
    ...inObject('profile', ['lastName', 'last_name', 'familyName', 'family_name']),
  ],
  displayName: inObject('profile', ['name', 'displayName', 'display_name', 'fullName']),
};
const HEADS = new Set(
  Object.values(NESTED).flatMap((paths) => paths.map((path) => path.split(/[.[]/, 1)[0] as string)),
);

function inLists(lists: readonly string[], names: readonly string[]): string[] {
  return lists.flatMap((list) => [
    ...FIRST.flatMap((first) => names.map((name) => `${list}${first}.${name}`)),
    `${list}.0`,
  ]);
}

function inObject(object: string, names: readonly string[]): string[] {
  return names.map((name) => `${object}.${name}`);
}

/** Whether no column of that name has a value of its own: there is none, or it is an object or a list. */
function isNested(record: Fields, column: string | undefined): boolean {
  return column === undefined || typeof record[column] === 'object';
}

function nestedPath(record: Fields, field: MappedField): string | undefined {
  return NESTED[field]?.find((path) => ['string', 'number'].includes(typeof valueAt(record, path)));
}

/** The element that holds the address, if it is one of a list or an object. */
function listPath(path: string | undefined): string | undefined {
  return path !== undefined && NESTED.email?.includes(path) && /\.[a-z]+$/.test(path)
    ? path.slice(0, path.lastIndexOf('.'))
    : undefined;
}

/** Whether the mapping depends on what is inside the record, and not on its columns alone. */
export function hasNested(record: Fields): boolean {
  if (Object.hasOwn(record, KEY)) return true;
  return Object.keys(record).some((column) => HEADS.has(column) && typeof record[column] === 'object');
}

/** What `--map` calls the fields of a state. */
const STATE_FIELDS = {
  active: 'enabled',
  activeUntil: 'enabled',
  inactive: 'disabled',
  inactiveUntil: 'disabled',
  locked: 'locked',
  lockedUntil: 'locked',
  unlocked: 'locked',
  deleted: 'deleted',
  marks: 'state',
} as const satisfies Record<string, MappedField>;
const OWN_RULES = { enabled: 'active', disabled: 'inactive', locked: 'locked', deleted: 'deleted' } as const;

/** The columns that the caller named for a state, and those with common names; none of a field that is left out. */
function statesOf(
  record: Fields,
  { columns }: GivenMapping,
  taken: ReadonlySet<string>,
  decided: Decided | undefined,
): StateRules {
  const named = [...statesNamed(record)].filter(
    ([path]) => !taken.has(path) && !(columns.state === '' && isProfileFlag(path)),
  );
  const rules: Record<string, readonly string[]> = {};
  for (const [meaning, names] of Object.entries(commonRules(named.map(([path]) => path)))) {
    if (columns[STATE_FIELDS[meaning as keyof typeof STATE_FIELDS]] !== '') rules[meaning] = names;
  }
  for (const [field, meaning] of Object.entries(OWN_RULES)) {
    const column = columns[field as keyof typeof OWN_RULES];
    if (column) rules[meaning] = [column, ...(rules[meaning] ?? [])];
  }
  const guessed = named.filter(
    ([path, meaning]) =>
      meaning === 'status' ||
      (meaning === 'perhaps status' && (decided === undefined || decided.states.includes(path))),
  );
  const groups = groupsOf(record);
  const ofGroups = groups === undefined || taken.has(groups.field) ? [] : [groups];
  const inWords = [...(columns.state === undefined ? [] : [columns.state]), ...guessed.map(([path]) => path)];
  const unclear = named.filter(([, meaning]) => meaning === 'perhaps active' || meaning === 'perhaps inactive');
  return {
    ...rules,
    ...(columns.state === '' ? {} : { unclear: unclear.map(([path]) => path) }),
    words: columns.state === '' ? [] : [...inWords.map((field) => ({ field, ...COMMON_WORDS })), ...ofGroups],
  };
}

/** Fields of a record whose names may say a state and that nothing reads yet. */
export function unclearStates(record: Fields, given: GivenMapping): [path: string, meaning: NameMeaning][] {
  if (given.columns.state === '') return [];
  const { columns, metadata } = mappingFor(record, given, { regions: [], states: [], isSpanish: false });
  const taken = new Set([...Object.values(columns), ...Object.values(metadata)]);
  return [...statesNamed(record)].filter(([path, meaning]) => meaning.startsWith('perhaps') && !taken.has(path));
}

/** The columns of a record, also in objects, on which its mapping depends. */
export function shapeOf(record: Fields, depth = 0): string {
  return Object.entries(record)
    .map(([name, value]) => (isFields(value) && depth < 2 ? `${name}{${shapeOf(value, depth + 1)}}` : name))
    .join('\n');
}
