/**
 * Maps the columns of a custom file to fields of a person: as `--map` says, else by common names.
 *
 * An unmapped column named `password` counts only if it holds hashes; plain passwords are imported only if mapped.
 */
import { CONTEXT } from '../read/json.ts';
import { type ConvertOptions, type Fields, UsageError } from '../source.ts';
import { isFields } from '../values.ts';

/**
 * Common names, in lower case and without punctuation. `enabled` and similar names are not fields; they give the state.
 */
const USUAL = {
  userId: ['userid', 'id', 'uid', 'uuid', 'guid', 'sub', 'externalid'],
  userName: ['username', 'login', 'loginname', 'userlogin', 'userprincipalname', 'upn', 'account', 'accountname'],
  email: ['email', 'mail', 'emailaddress', 'useremail', 'primaryemail'],
  emailVerified: [
    ...['emailverified', 'isemailverified', 'verifiedemail', 'emailaddressverified', 'emailverifiedat'],
    ...['emailconfirmed', 'isemailconfirmed', 'emailconfirmedat', 'verified', 'isverified', 'confirmed'],
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

const MAPPED_FIELDS = Object.keys(USUAL) as MappedField[];
const METADATA = 'metadata.';

export interface Mapping {
  /** Column, or path of NDJSON such as `profile.mail`, by field. */
  columns: Partial<Record<MappedField, string>>;
  /** The same, by metadata key. */
  metadata: Record<string, string>;
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

/** The value at a column, or at a path: `profile.mail`. */
export function valueAt(record: Fields, column: string | undefined): unknown {
  if (column === undefined) return undefined;
  if (Object.hasOwn(record, column)) return record[column];
  let value: unknown = record;
  for (const name of column.split('.')) value = isFields(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/**
 * Lines that list the mapped and the unmapped columns.
 * @param hashPlace where a hash was found outside mapped columns
 */
export function explainMapping(record: Fields, given: Mapping, hashPlace?: string): string[] {
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
