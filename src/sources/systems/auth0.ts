import type { Note, OldSignIn, Person, ProviderLink, Skipped } from '../entry.ts';
import {
  bytesOf,
  type Encoding,
  type HashText,
  hmacText,
  pbkdf2Text,
  saltedDigest,
  scryptText,
  unsupported,
} from '../hashes.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import type { ExportFormat, Fields, HashFile, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, CONTEXT, genderOf, isEmptyObject, numberAt, objectAt, objectsAt, textAt } from '../values.ts';
import { confirmedMethods, factorsOf } from './auth0-factors.ts';

/**
 * The file of password hashes that Auth0's support provides: NDJSON, a line for each user of a database connection.
 *
 * `alt_id`, or else `_id.$oid` (`_ID` in some exports), is the part of the user's id after `auth0|`. Lines are matched
 * by address only where a line or a user has no id, and then never to a user of another connection.
 */
const auth0HashFile: HashFile = {
  recognizes(record) {
    if (Object.hasOwn(record, 'user_id')) return false;
    if (Object.hasOwn(record, 'connection') && Object.hasOwn(record, 'tenant')) return true;
    const isMongo = Object.hasOwn(objectAt(record, '_id'), '$oid') || Object.hasOwn(objectAt(record, '_ID'), '$oid');
    return isMongo && Object.hasOwn(record, 'passwordHash');
  },
  keysOfHash(hashRecord) {
    if (textAt(hashRecord, 'passwordHash') === undefined) return [];
    return [idOf(hashRecord), emailOf(hashRecord)?.toLowerCase()].filter((key) => key !== undefined);
  },
  keysOfUser(record) {
    const user = asUser(record);
    return [
      ...new Set([...databaseIds(user), textAt(user, 'email')?.toLowerCase()].filter((key) => key !== undefined)),
    ];
  },
  join(record, hashRecord) {
    const user = asUser(record);
    return isOwnHash(user, hashRecord) ? { ...user, passwordHash: hashRecord.passwordHash } : user;
  },
};

const has = (name: string) => (record: Fields) => Object.hasOwn(record, name);

const MISSING: readonly Missing[] = [
  {
    id: 'AUTH0-PASSWORDS',
    what: 'password',
    message: 'Exports of Auth0 contain no password hashes.',
    remedy: 'Ask the support of Auth0 for the file of hashes, and add it with --hashes.',
    isIn: (record) => ['passwordHash', 'password_hash', 'custom_password_hash'].some((name) => has(name)(record)),
  },
  {
    id: 'AUTH0-AUTHENTICATION-METHODS',
    what: 'secondFactor',
    message: 'Exports of Auth0 do not say who has a passkey, a second factor or a recovery code.',
    remedy:
      'Add the answer of GET /api/v2/users/{id}/authentication-methods to each user, as the property authentication_methods.',
    isIn: has('authentication_methods'),
  },
  {
    id: 'AUTH0-IDENTITIES',
    what: 'links',
    message: 'These users have no identities, so only the account that the user id names is known.',
    remedy: 'Export the users with the field identities, or list them with GET /api/v2/users.',
    isIn: (record) => Object.keys(record).some((name) => /^(?:identities\b|Connection$)/.test(name)),
  },
  {
    id: 'AUTH0-ROLES',
    what: 'roles',
    message: 'Exports of Auth0 contain no roles and organizations.',
    remedy:
      'Add the answers of GET /api/v2/users/{id}/roles and …/organizations to each user, as the properties roles and organizations; they become metadata.',
    isIn: (record) => has('roles')(record) || has('organizations')(record),
  },
];

export const auth0: ExportFormat = {
  name: 'auth0',
  title: 'Auth0',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [['users', '*']],
  recognizes: (record) => certaintyOf(asUser(record)),
  hashFile: auth0HashFile,
  missing: MISSING,
  converter: () => convert,
};

const USER_ID = /^([a-z0-9_-]+)\|(.+)$/i;

function certaintyOf(user: Fields): number {
  if (USER_ID.test(textAt(user, 'user_id') ?? '')) return 1;
  if (Object.hasOwn(user, 'custom_password_hash')) return 1;
  if (objectsAt(user, 'identities').some((identity) => Object.hasOwn(identity, 'isSocial'))) return 1;
  if (!Object.hasOwn(user, 'email_verified') || Object.hasOwn(user, 'id')) return 0;
  const names = ['user_metadata', 'app_metadata', 'mfa_factors', 'user_id'];
  return names.some((name) => Object.hasOwn(user, name)) ? 0.7 : 0;
}

const STATES = { inactive: ['blocked'] };

function convert(record: Fields): Person | Skipped {
  const user = asUser(record);
  const email = textAt(user, 'email');
  const name = textAt(user, 'name');
  const { hash, notes = [] } = auth0Hash(user);
  const { state, skip, notes: unread } = readSystemState(user, STATES);
  if (skip !== undefined) return { skip };
  const [phone, emailVerified] = [textAt(user, 'phone_number'), boolAt(user, 'email_verified')];
  // Who signs in by text message typed a code that went to the number.
  const phoneVerified = boolAt(user, 'phone_verified') ?? (phone !== undefined && isBySms(user) ? true : undefined);
  const factors = factorsOf(user).fields({ email, emailVerified, phone, phoneVerified });
  return {
    userId: textAt(user, 'user_id'),
    userName: textAt(user, 'username'),
    email,
    emailVerified,
    firstName: textAt(user, 'given_name'),
    lastName: textAt(user, 'family_name'),
    // Auth0 uses the address as the name of a user who gave none.
    displayName: name === email ? undefined : name,
    nickName: textAt(user, 'nickname'),
    language: textAt(user, 'locale'),
    gender: genderOf(textAt(user, 'gender')),
    phone,
    phoneVerified,
    state,
    hash,
    ...factors,
    notes: [...unread, ...notes, ...factors.notes],
    metadata: metadataOf(user),
    links: linksOf(user),
    oldSignIn: waysOf(user, hash !== undefined),
  };
}

/** Attributes that have a field of their own. */
const TAKEN = (
  'user_id username email email_verified given_name family_name name nickname locale gender phone_number phone_verified ' +
  'blocked identities passwordHash password_hash custom_password_hash mfa_factors ' +
  'authentication_methods'
).split(' ');
/** Bookkeeping of Auth0. */
const DROPPED = (
  'created_at updated_at last_login last_ip logins_count last_password_reset multifactor multifactor_last_modified ' +
  'guardian_authenticators blocked_for clientID _id'
).split(' ');
const NO_METADATA = new Set([...TAKEN, ...DROPPED, CONTEXT]);

function metadataOf(user: Fields): Fields {
  const rest = Object.entries(user).filter(([key, value]) => !NO_METADATA.has(key) && !isEmptyObject(value));
  return Object.fromEntries(rest);
}

/** Connections of Auth0 itself: its databases, and codes by mail and phone. */
const OWN_PROVIDERS = ['auth0', 'email', 'sms'];

/** Accounts at external providers; where an export does not list them, the user's id names the first one. */
function linksOf(user: Fields): ProviderLink[] {
  const listed = objectsAt(user, 'identities').flatMap(linkOf);
  if (listed.length > 0) return listed;
  const [, provider, externalUserId] = USER_ID.exec(textAt(user, 'user_id') ?? '') ?? [];
  if (!provider || !externalUserId || OWN_PROVIDERS.includes(provider)) return [];
  return [{ provider, externalUserId }];
}

function linkOf(identity: Fields): ProviderLink[] {
  const strategy = textAt(identity, 'provider');
  const id = textAt(identity, 'user_id');
  if (!strategy || !id || OWN_PROVIDERS.includes(strategy)) return [];
  // Enterprise connections are told apart by name only: there may be several of type `samlp`.
  const connection = boolAt(identity, 'isSocial') === true ? undefined : textAt(identity, 'connection');
  const provider = connection ?? strategy;
  const externalUserId = id.startsWith(`${provider}|`) ? id.slice(provider.length + 1) : id;
  const displayName = textAt(objectAt(identity, 'profileData'), 'name');
  return [{ provider, externalUserId, ...(displayName === undefined ? {} : { displayName }) }];
}

/** How the user signed in: each identity belongs to a connection, and each connection is of one kind. */
function waysOf(user: Fields, hasHash: boolean): OldSignIn | undefined {
  const [, prefix] = USER_ID.exec(textAt(user, 'user_id') ?? '') ?? [];
  const listed = objectsAt(user, 'identities').flatMap((identity) => {
    const strategy = textAt(identity, 'provider');
    return strategy === undefined ? [] : [{ strategy, isSocial: boolAt(identity, 'isSocial') }];
  });
  const identities = listed.length > 0 || prefix === undefined ? listed : [{ strategy: prefix, isSocial: undefined }];
  const isBy = (strategy: string) => identities.some((identity) => identity.strategy === strategy);
  const external = identities.filter(({ strategy }) => !OWN_PROVIDERS.includes(strategy));
  const isEnterprise = ({ strategy, isSocial }: (typeof identities)[number]) => !(isSocial ?? !isOfCompany(strategy));
  return signedInBy({
    password: hasHash || isBy('auth0'),
    mailCode: isBy('email'),
    sms: isBy('sms'),
    provider: external.some((identity) => !isEnterprise(identity)),
    enterprise: external.some(isEnterprise),
    passkey: confirmedMethods(user).some((method) => textAt(method, 'type') === 'passkey'),
  });
}

/** A user of a passwordless connection of text messages, whose number is the name: `sms|…`. */
function isBySms(user: Fields): boolean {
  const isOfSms = (identity: Fields) => textAt(identity, 'provider') === 'sms';
  return textAt(user, 'user_id')?.startsWith('sms|') === true || objectsAt(user, 'identities').some(isOfSms);
}

/** `user_metadata.country`, `identities[0].provider`. */
const PATH = /^(app_metadata|user_metadata|identities\[\d+\])\.(.+)$/;

/**
 * The user of a row of Auth0's CSV exports; a user from JSON stays unchanged. Columns have the paths of attributes, or
 * titles as in Auth0's dashboard (`Email Verified`) as names. Every text begins with an apostrophe, which protects it
 * from spreadsheets.
 * https://auth0.com/docs/manage-users/user-migration/bulk-user-exports#supported-file-formats
 */
function asUser(record: Fields): Fields {
  if (!Object.values(record).every((value) => typeof value === 'string')) return record;
  const entries = Object.entries(isMarked(record) ? unmarked(record) : record);
  const named = entries.map(([column, value]) => ({ name: nameOf(column), value }));
  const plain = named.filter(({ name }) => !PATH.test(name)).map(({ name, value }) => [name, value]);
  return { ...Object.fromEntries(plain), ...nested(named) };
}

/** An id never begins with an apostrophe, an address hardly ever. */
function isMarked(record: Fields): boolean {
  const first = record.user_id ?? record.Id ?? record.email ?? record.Email;
  return typeof first === 'string' && first.startsWith("'");
}

function unmarked(record: Fields): Fields {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, String(value).replace(/^'/, '')]));
}

/** Auth0's default column titles, for exports without chosen names. */
const TITLES: Readonly<Record<string, string>> = {
  Id: 'user_id',
  'User Id': 'user_id',
  'Given Name': 'given_name',
  'Family Name': 'family_name',
  Nickname: 'nickname',
  Name: 'name',
  Username: 'username',
  Email: 'email',
  'Email Verified': 'email_verified',
  'Phone Number': 'phone_number',
  'Phone Verified': 'phone_verified',
  Picture: 'picture',
  Blocked: 'blocked',
  Connection: 'identities[0].connection',
  'Created At': 'created_at',
  'Updated At': 'updated_at',
  'Last Login': 'last_login',
  'Last IP': 'last_ip',
  'Logins Count': 'logins_count',
};

function nameOf(column: string): string {
  return Object.hasOwn(TITLES, column) ? (TITLES[column] as string) : column;
}

/** Metadata and identities whose parts have columns of their own. */
function nested(columns: readonly { name: string; value: unknown }[]): Fields {
  const parts: Record<string, [string, unknown][]> = {};
  for (const { name, value } of columns) {
    const [, around, inner] = PATH.exec(name) ?? [];
    if (around === undefined || inner === undefined || value === '') continue;
    parts[around] = [...(parts[around] ?? []), [inner, value]];
  }
  const objects = Object.entries(parts).map(([around, inside]) => [around, Object.fromEntries(inside)] as const);
  const identities = objects.filter(([around]) => around.startsWith('identities')).map(([, identity]) => identity);
  const metadata = objects.filter(([around]) => !around.startsWith('identities'));
  return { ...Object.fromEntries(metadata), ...(identities.length > 0 ? { identities } : {}) };
}

function idOf(hashRecord: Fields): string | undefined {
  const id = textAt(hashRecord, 'alt_id') ?? oidOf(hashRecord, '_id') ?? oidOf(hashRecord, '_ID');
  return id === undefined ? undefined : `auth0|${id}`;
}

function oidOf(hashRecord: Fields, key: string): string | undefined {
  return textAt(objectAt(hashRecord, key), '$oid') ?? textAt(hashRecord, key);
}

function emailOf(hashRecord: Fields): string | undefined {
  const identifier = objectsAt(hashRecord, 'identifiers').find((one) => one.type === 'email');
  return textAt(hashRecord, 'email') ?? (identifier && textAt(identifier, 'value'));
}

/** A hash that was found by address may still belong to another account with the same address. */
function isOwnHash(user: Fields, hashRecord: Fields): boolean {
  const id = idOf(hashRecord);
  const ids = databaseIds(user);
  const isOfNoDatabase = textAt(user, 'user_id') !== undefined && ids.length === 0;
  if (isOfNoDatabase) return false;
  if (id !== undefined && ids.length > 0) return ids.includes(id);
  return !isOfOtherConnection(user, textAt(hashRecord, 'connection'));
}

/** The user's ids in databases: their own, or that of a database account that is linked to another account. */
function databaseIds(user: Fields): string[] {
  const id = textAt(user, 'user_id');
  const linked = databaseIdentities(user).flatMap((identity) => textAt(identity, 'user_id') ?? []);
  const own = id === undefined || (id.includes('|') && !id.startsWith('auth0|')) ? [] : [id];
  return [...own, ...linked].map((one) => (one.startsWith('auth0|') ? one : `auth0|${one}`));
}

function databaseIdentities(user: Fields): Fields[] {
  return objectsAt(user, 'identities').filter((identity) => (textAt(identity, 'provider') ?? 'auth0') === 'auth0');
}

function isOfOtherConnection(user: Fields, connection: string | undefined): boolean {
  const connections = databaseIdentities(user).flatMap((identity) => textAt(identity, 'connection') ?? []);
  return connection !== undefined && connections.length > 0 && !connections.includes(connection);
}

const PASSWORD_ENCODING: Note = {
  id: 'AUTH0-PASSWORD-ENCODING',
  message: 'The hashed password was not encoded as UTF-8; a password with characters beyond ASCII will not verify.',
};

/**
 * Bcrypt, from the file of hashes or in `password_hash`, or a hash of another system in `custom_password_hash`, the
 * format of the bulk import.
 */
function auth0Hash(user: Fields): HashText {
  const hash = textAt(user, 'passwordHash') ?? textAt(user, 'password_hash');
  if (hash !== undefined) return { hash };
  const custom = objectAt(user, 'custom_password_hash');
  const algorithm = textAt(custom, 'algorithm')?.toLowerCase();
  if (algorithm === undefined) return {};
  const encoding = textAt(objectAt(custom, 'password'), 'encoding')?.toLowerCase() ?? 'utf8';
  if (encoding === 'utf16le' || encoding === 'ucs2') return unsupported(`${algorithm}-utf16`);
  const made = customHash(algorithm, custom);
  return encoding === 'utf8' ? made : { ...made, notes: [...(made.notes ?? []), PASSWORD_ENCODING] };
}

function customHash(algorithm: string, custom: Fields): HashText {
  const value = textAt(objectAt(custom, 'hash'), 'value');
  if (value === undefined) return unsupported(algorithm);
  const isSalted = saltOf(custom)?.length !== 0;
  switch (algorithm) {
    case 'bcrypt':
      return isSalted ? unsupported('bcrypt-salted') : { hash: value };
    case 'argon2':
    case 'ldap':
      return { hash: value };
    case 'pbkdf2':
      return pbkdf2(value);
    case 'hmac':
      return hmac(custom, value);
    case 'scrypt':
      return scrypt(custom, value);
    case 'md5':
    case 'sha1':
    case 'sha256':
    case 'sha512':
      return digest(algorithm, custom, value);
    default:
      return unsupported(algorithm);
  }
}

function saltOf(custom: Fields): Buffer | undefined {
  const salt = objectAt(custom, 'salt');
  return Object.hasOwn(salt, 'value') ? partOf(salt, 'utf8') : Buffer.alloc(0);
}

/** The bytes of a part that names its own encoding. */
function partOf(part: Fields, otherwise: Encoding): Buffer | undefined {
  const encoding = textAt(part, 'encoding')?.toLowerCase() ?? otherwise;
  const isKnown = encoding === 'hex' || encoding === 'base64' || encoding === 'utf8';
  // Not trimmed: spaces are part of a salt.
  return isKnown && typeof part.value === 'string' ? bytesOf(part.value, encoding) : undefined;
}

/** `$pbkdf2-sha512$i=100000,l=64$salt$hash` (PHC); without `i`, the documentation's 100000. */
const PHC = /^\$pbkdf2-([A-Za-z0-9-]+)\$(?:([a-z]=\d+(?:,[a-z]=\d+)*)\$)?([^$]+)\$([^$]+)$/;
/** `RSA-SHA512` and `sha512WithRSAEncryption` are OpenSSL's other names for sha512. */
const SHA = /^(?:rsa-)?(sha1|sha224|sha256|sha384|sha512)(?:-2|withrsaencryption|withrsa)?$/;

function pbkdf2(value: string): HashText {
  const [, name = '', parameters = '', saltText = '', digestText = ''] = PHC.exec(value) ?? [];
  const algorithm = SHA.exec(name.toLowerCase())?.[1];
  const salt = bytesOf(saltText, 'base64');
  const bytes = bytesOf(digestText, 'base64');
  if (algorithm === undefined || !salt || !bytes) return unsupported(name === '' ? 'pbkdf2' : `pbkdf2-${name}`);
  const rounds = /(?:^|,)i=(\d+)/.exec(parameters)?.[1] ?? '100000';
  return { hash: pbkdf2Text(algorithm, Number(rounds), salt, bytes) };
}

const HMAC_DIGESTS = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'];

function hmac(custom: Fields, value: string): HashText {
  const hash = objectAt(custom, 'hash');
  const algorithm = textAt(hash, 'digest')?.toLowerCase() ?? '';
  const bytes = digestOf(custom, value);
  const key = partOf(objectAt(hash, 'key'), 'utf8');
  const isSalted = saltOf(custom)?.length !== 0;
  if (isSalted) return unsupported('hmac-salted');
  if (!HMAC_DIGESTS.includes(algorithm) || !bytes || !key) return unsupported(`hmac-${algorithm}`);
  return { hash: hmacText(algorithm, key, bytes) };
}

/** The documentation requires an encoding for these hashes; if it is missing, a text of hex digits counts as hex. */
function digestOf(custom: Fields, value: string): Buffer | undefined {
  return partOf(objectAt(custom, 'hash'), /^[0-9a-f]+$/i.test(value) ? 'hex' : 'base64');
}

function scrypt(custom: Fields, value: string): HashText {
  const bytes = digestOf(custom, value);
  const salt = saltOf(custom);
  const ln = Math.log2(numberAt(custom, 'cost') ?? 16384);
  if (!bytes || !salt || !Number.isInteger(ln)) return unsupported('scrypt');
  const cost = { ln, r: numberAt(custom, 'blockSize') ?? 8, p: numberAt(custom, 'parallelization') ?? 1 };
  return { hash: scryptText(cost, salt, bytes) };
}

function digest(algorithm: string, custom: Fields, value: string): HashText {
  const bytes = digestOf(custom, value);
  const salt = saltOf(custom);
  if (!bytes || !salt) return unsupported(algorithm);
  const order = textAt(objectAt(custom, 'salt'), 'position') === 'suffix' ? 'suffix' : 'prefix';
  return { hash: saltedDigest(algorithm, order, salt, bytes) };
}
