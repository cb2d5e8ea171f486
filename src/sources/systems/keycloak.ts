/**
 * Keycloak: users of realm exports, users files, realms written by hand, and the admin API.
 *
 * Guarantee: a user who could not log in to Keycloak cannot log in here. A user without `enabled` is disabled in both.
 * https://www.keycloak.org/server/importExport
 * https://www.keycloak.org/docs-api/latest/rest-api/index.html#UserRepresentation, …#CredentialRepresentation
 * https://www.keycloak.org/docs/latest/server_admin/index.html#user-profile, …#hashalgorithm, …#one-time-password-otp-policies
 */
import { Secret } from 'otpauth';
import type { Note, Person, ProviderLink, Skipped } from '../entry.ts';
import { type Factors, openFactors } from '../factors.ts';
import { bytesOf, type HashText, pbkdf2Text, unsupported } from '../hashes.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import type { ExportFormat, Fields, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, CONTEXT, genderOf, jsonAt, numberAt, objectAt, objectsAt, textAt } from '../values.ts';

/** Before 1.2, `clientRoles` was called `applicationRoles`. Organizations are joined. */
const LISTS = ['realmRoles', 'clientRoles', 'applicationRoles', 'groups', 'organizations'];
const EXPORT = 'Export the realm with kc.sh export (docs/sources/keycloak.md)';

const MISSING: readonly Missing[] = [
  {
    id: 'KEYCLOAK-CREDENTIALS',
    what: 'password',
    message: 'The admin API returns no passwords, second factors, passkeys and recovery codes.',
    remedy: `${EXPORT}, or pull from the database (muster pull keycloak-db).`,
    isIn: hasField('credentials'),
  },
  {
    id: 'KEYCLOAK-LINKS',
    what: 'links',
    message: 'These files contain no accounts at identity providers; the list of users of the admin API never does.',
    remedy: `${EXPORT}, or add the answer of GET /admin/realms/{realm}/users/{id}/federated-identity as federatedIdentities.`,
    isIn: hasField('federatedIdentities'),
  },
  {
    id: 'KEYCLOAK-ROLES',
    what: 'roles',
    message: 'These files contain no roles and groups; the list of users of the admin API never does.',
    remedy: `${EXPORT}, or add the answers for each user as realmRoles, clientRoles and groups.`,
    isIn: hasField('realmRoles', 'clientRoles', 'applicationRoles', 'groups'),
  },
  {
    id: 'KEYCLOAK-ORGANIZATIONS',
    what: 'roles',
    message: 'An export has the members of organizations beside the users, where they are not read.',
    remedy:
      'Add the answer of GET /admin/realms/{realm}/organizations/members/{id}/organizations to each user as organizations.',
    isIn: hasField('organizations'),
  },
];

export const keycloak: ExportFormat = {
  name: 'keycloak',
  title: 'Keycloak',
  formats: ['json', 'ndjson'],
  jsonPaths: [
    ['users', '*'],
    ['*', 'users', '*'],
  ],
  missing: MISSING,
  recognizes(record) {
    if (isOfRealm(record)) return 0.9;
    if (textAt(record, 'username') === undefined) return isRealm(record) ? 0.5 : 0;
    if (['createdTimestamp', 'disableableCredentialTypes', 'serviceAccountClientId'].some((key) => key in record))
      return 1;
    if (objectsAt(record, 'credentials').some((credential) => 'secretData' in credential)) return 1;
    if (objectsAt(record, 'credentials').some((credential) => 'hashedSaltedValue' in credential)) return 1;
    return typeof record.enabled === 'boolean' && isWrittenByHand(record) ? 0.8 : 0;
  },
  converter: () => convert,
};

/**
 * Whether a named realm contains the record: realms written by hand may hold no more of a user than name and address.
 */
function isOfRealm(record: Fields): boolean {
  const hasName = ['username', 'email'].some((key) => textAt(record, key) !== undefined);
  return hasName && textAt(objectAt(record, CONTEXT), 'realm') !== undefined;
}

function isRealm(record: Fields): boolean {
  return typeof record.realm === 'string' && (Array.isArray(record.users) || 'keycloakVersion' in record);
}

function isWrittenByHand(record: Fields): boolean {
  return ['credentials', 'requiredActions', 'realmRoles', 'federatedIdentities'].some((key) =>
    Array.isArray(record[key]),
  );
}

const ACTION_DROPPED: Note = {
  id: 'REQUIRED-ACTION-DROPPED',
  message: 'Required actions other than UPDATE_PASSWORD and VERIFY_EMAIL have no counterpart here; they are dropped.',
};

/** Actions with a counterpart: a required password change, and the mail that every unverified address gets. */
const UPDATE_PASSWORD = 'UPDATE_PASSWORD';
const MATCHED_ACTIONS = [UPDATE_PASSWORD, 'VERIFY_EMAIL'];
const REALM_ONLY = 'A realm without users; an export in several files has them in <realm>-users-0.json and so on.';

const STATES = { active: ['enabled'], required: ['enabled'] };

function convert(record: Fields): Person | Skipped {
  if (textAt(record, 'serviceAccountClientId') !== undefined) return { skip: 'The service account of a client.' };
  if (textAt(record, 'username') === undefined && isRealm(record)) return { skip: REALM_ONLY };
  const { notes, ...credentials } = credentialsOf(record);
  const read = readSystemState(record, STATES);
  if (read.skip !== undefined) return { skip: read.skip };
  notes.push(...read.notes);
  const actions = actionsOf(record);
  if (actions.some((action) => !MATCHED_ACTIONS.includes(action))) notes.push(ACTION_DROPPED);
  const attributes = objectAt(record, 'attributes');
  const links = objectsAt(record, 'federatedIdentities').flatMap(linkOf);
  return {
    userId: textAt(record, 'id'),
    userName: textAt(record, 'username'),
    email: textAt(record, 'email'),
    emailVerified: boolAt(record, 'emailVerified'),
    firstName: textAt(record, 'firstName'),
    lastName: textAt(record, 'lastName'),
    nickName: firstOf(attributes, 'nickname'),
    gender: genderOf(firstOf(attributes, 'gender')),
    language: firstOf(attributes, 'locale'),
    phone: firstOf(attributes, 'phoneNumber'),
    phoneVerified: firstOf(attributes, 'phoneNumberVerified')?.toLowerCase() === 'true',
    state: read.state ?? 'active',
    ...credentials,
    passwordChangeRequired: credentials.passwordChangeRequired || actions.includes(UPDATE_PASSWORD),
    metadata: metadataOf(record),
    links,
    oldSignIn: oldSignInOf({
      password: credentials.hash !== undefined || credentials.password !== undefined,
      passkey: objectsAt(record, 'credentials').some((credential) => typeOf(credential) === PASSKEY),
      links,
    }),
    notes,
  };
}

/** The required actions in capitals; old exports have them in lower case. */
function actionsOf(record: Fields): string[] {
  const actions = record.requiredActions;
  if (!Array.isArray(actions)) return [];
  return actions.filter((action) => typeof action === 'string').map((action) => action.toUpperCase());
}

/** The first value of an attribute; old exports have plain text in place of the list. */
function firstOf(attributes: Fields, name: string): string | undefined {
  const value = valuesOf(attributes, name)[0];
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? undefined : text;
}

function valuesOf(attributes: Fields, name: string): unknown[] {
  const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

function linkOf(identity: Fields): ProviderLink[] {
  const provider = textAt(identity, 'identityProvider');
  const externalUserId = textAt(identity, 'userId');
  if (provider === undefined || externalUserId === undefined) return [];
  return [{ provider, externalUserId, displayName: textAt(identity, 'userName') }];
}

/** Attributes that have a field of their own: the names that Keycloak's own mappers use. */
const TAKEN = ['nickname', 'locale', 'phoneNumber', 'phoneNumberVerified'];

/**
 * Every attribute without a field, and the user's roles and groups. Several values become a list. An attribute that is
 * named like one of these lists becomes `attributes.<name>`, so that none is lost.
 */
function metadataOf(record: Fields): Record<string, unknown> {
  const attributes = objectAt(record, 'attributes');
  const others = Object.keys(attributes).filter((name) => !TAKEN.includes(name));
  return Object.fromEntries([
    ...LISTS.map((name) => [name, isEmpty(record[name]) ? undefined : record[name]]),
    ...others.map((name) => {
      const values = valuesOf(attributes, name);
      return [LISTS.includes(name) ? `attributes.${name}` : name, values.length > 1 ? values : values[0]];
    }),
  ]);
}

function isEmpty(value: unknown): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0;
}

type Taken = Pick<Person, 'password' | 'hash' | 'passwordChangeRequired' | 'totps' | 'recoveryCodes' | 'passkeys'> & {
  notes: Note[];
};

const FEDERATED: Note = {
  id: 'PASSWORD-NOT-EXPORTED',
  message: 'A user federation such as LDAP keeps the password; it is not in the export.',
};

const CREDENTIAL_DROPPED: Note = {
  id: 'CREDENTIAL-DROPPED',
  message: 'The user has a credential of another kind than Muster knows; it is dropped.',
};

const PASSWORD = 'password';
/** `totp` and `hotp` are the types of old exports. */
const APPS = ['otp', 'totp', 'hotp'];
/** Former passwords, which Keycloak keeps to prevent their reuse. */
const HISTORY = 'password-history';
/** A second factor. */
const SECURITY_KEY = 'webauthn';
const PASSKEY = 'webauthn-passwordless';
const RECOVERY_CODES = 'recovery-authn-codes';

/**
 * The first password, and all factors, recovery codes and passkeys. Credentials come in three forms: JSON texts
 * `secretData` and `credentialData` (Keycloak 8 and later), separate fields such as `hashedSaltedValue` (before), and a
 * plain `value` (realms written by hand).
 */
function credentialsOf(record: Fields): Taken {
  const credentials = inOrder(objectsAt(record, 'credentials'));
  const ofTypes = (...types: string[]) => credentials.filter((credential) => types.includes(typeOf(credential)));
  const [password] = ofTypes(PASSWORD);
  const isFederated = textAt(record, 'federationLink') !== undefined;
  const taken: Taken = password ? passwordOf(password) : { notes: isFederated ? [FEDERATED] : [] };
  const factors = openFactors();
  const apps = ofTypes(...APPS);
  for (const app of apps) addApp(app, factors);
  // `totp` says that the user has an app, whether or not its secret is in the export.
  if (apps.length === 0 && boolAt(record, 'totp') === true) factors.lost('secondFactor');
  for (const key of ofTypes(SECURITY_KEY, PASSKEY)) addKey(key, record, factors);
  for (const codes of ofTypes(RECOVERY_CODES)) addCodes(codes, factors);
  const { notes, ...found } = factors.fields({});
  taken.notes.push(...notes);
  Object.assign(taken, found);
  const known = ofTypes(PASSWORD, HISTORY, SECURITY_KEY, PASSKEY, RECOVERY_CODES, ...APPS);
  if (known.length < credentials.length) taken.notes.push(CREDENTIAL_DROPPED);
  return taken;
}

/** Keycloak asks for the credential with the lowest number first; exports without numbers are already in that order. */
function inOrder(credentials: Fields[]): Fields[] {
  const rank = (credential: Fields) => numberAt(credential, 'priority') ?? Number.MAX_SAFE_INTEGER;
  return credentials.sort((a, b) => rank(a) - rank(b));
}

function typeOf(credential: Fields): string {
  return textAt(credential, 'type') ?? PASSWORD;
}

const PLACEHOLDER: Note = {
  id: 'PASSWORD-PLACEHOLDER',
  message: 'The password is a placeholder for an environment variable, which only Keycloak replaces; it is dropped.',
};

function passwordOf(credential: Fields): Taken {
  const { value } = credential;
  const passwordChangeRequired = boolAt(credential, 'temporary') === true;
  if (typeof value !== 'string' || value === '') {
    const { hash, notes = [] } = hashOf(credential);
    return { passwordChangeRequired, hash, notes: [...notes] };
  }
  // Without its replacement, the placeholder is a password known to every reader of the file.
  if (/^\$\{.*\}$/.test(value)) return { passwordChangeRequired, notes: [PLACEHOLDER] };
  return { passwordChangeRequired, password: value, notes: [] };
}

const PBKDF2: Readonly<Record<string, string>> = {
  pbkdf2: 'sha1',
  'pbkdf2-sha256': 'sha256',
  'pbkdf2-sha512': 'sha512',
};

/**
 * The hash of a credential in Modular Crypt Format; empty when the credential holds none.
 *
 * Keycloak writes salt and hash as padded base64, and derives as many bytes as the hash has. The number of rounds and
 * the parameters of argon2 are in separate fields. Extensions such as those for bcrypt put a complete Modular Crypt
 * text in place of the hash.
 */
function hashOf(credential: Fields): HashText {
  const secret = secretOf(credential);
  if (secret === undefined) return {};
  const { value, algorithm } = secret;
  if (value.startsWith('$')) return { hash: value };
  // One extension omits the leading `$`.
  if (/^argon2(id?|d)\$/.test(value)) return { hash: `$${value}` };
  if (algorithm === 'argon2') return argon2(secret);
  return Object.hasOwn(PBKDF2, algorithm) ? pbkdf2(secret) : unsupported(algorithm);
}

interface StoredHash {
  value: string;
  salt: string;
  algorithm: string;
  iterations: number;
  parameters: Fields;
}

function secretOf(credential: Fields): StoredHash | undefined {
  const isOld = textAt(credential, 'hashedSaltedValue') !== undefined;
  const data = isOld ? credential : jsonAt(credential, 'credentialData');
  const secret = isOld ? credential : jsonAt(credential, 'secretData');
  const value = textAt(secret, isOld ? 'hashedSaltedValue' : 'value');
  if (value === undefined) return undefined;
  return {
    value,
    salt: textAt(secret, 'salt') ?? '',
    // Before Keycloak named its algorithms, there was only this one.
    algorithm: textAt(data, 'algorithm') ?? (isOld ? 'pbkdf2' : 'no-algorithm'),
    iterations: numberAt(data, 'hashIterations') ?? 0,
    parameters: objectAt(data, 'additionalParameters'),
  };
}

const ARGON2_VERSIONS: Readonly<Record<string, string>> = { '1.3': '19', '1.0': '16' };

/** Version 1.0 is passed on unchanged, so that the service rejects it by name. */
function argon2({ value, salt, iterations, parameters }: StoredHash): HashText {
  const version = ARGON2_VERSIONS[parameter(parameters, 'version')];
  const [type, memory, lanes] = ['type', 'memory', 'parallelism'].map((name) => parameter(parameters, name));
  if (version === undefined || !type || !memory || !lanes || iterations < 1) return unsupported('argon2-no-cost');
  return {
    hash: `$argon2${type}$v=${version}$m=${memory},t=${iterations},p=${lanes}$${unpadded(salt)}$${unpadded(value)}`,
  };
}

/** A parameter is a list of one text or, in realms written by hand, the text itself. */
function parameter(parameters: Fields, name: string): string {
  const value = parameters[name];
  return textAt({ value: Array.isArray(value) ? value[0] : value }, 'value') ?? '';
}

/** Base64 without padding, as in the PHC string format. */
function unpadded(base64: string): string {
  return base64.replace(/=+$/, '');
}

/** Without rounds, or with -1, Keycloak itself cannot verify the hash, and its defaults have changed over the years. */
function pbkdf2({ value, salt, algorithm, iterations }: StoredHash): HashText {
  if (iterations < 1) return unsupported('pbkdf2-no-rounds');
  const [saltBytes, digest] = [bytesOf(salt, 'base64'), bytesOf(value, 'base64')];
  if (saltBytes === undefined || digest === undefined) return unsupported('pbkdf2-no-base64');
  return { hash: pbkdf2Text(PBKDF2[algorithm] as string, iterations, saltBytes, digest) };
}

/**
 * An authenticator app, with its parameters. Absent ones have the values of a new realm's policy. Codes that are counted
 * instead of timed (HOTP) are lost.
 *
 * Trap: Keycloak's secret is a text whose bytes are the key. It looks like base32, but is not, unless `secretEncoding`
 * says so.
 */
function addApp(credential: Fields, factors: Factors): void {
  const isOld = typeof credential.hashedSaltedValue === 'string';
  const data = isOld ? { ...credential, subType: credential.type } : jsonAt(credential, 'credentialData');
  const value = isOld ? credential.hashedSaltedValue : jsonAt(credential, 'secretData').value;
  const isTimed = (textAt(data, 'subType') ?? 'totp') === 'totp';
  factors.app({
    secret: typeof value === 'string' && isTimed ? inBase32(value, textAt(data, 'secretEncoding')) : undefined,
    algorithm: textAt(data, 'algorithm'),
    digits: numberAt(data, 'digits'),
    period: numberAt(data, 'period'),
    name: textAt(credential, 'userLabel'),
  });
}

function inBase32(value: string, encoding: string | undefined): string {
  if (encoding === undefined) return Secret.fromUTF8(value).base32;
  return encoding.toUpperCase() === 'BASE32' ? value : '';
}

/** Where a realm says for which host its credentials are made; empty: for the host of Keycloak, which no export names. */
const RP_ID_OF = { [SECURITY_KEY]: 'webAuthnPolicyRpId', [PASSKEY]: 'webAuthnPolicyPasswordlessRpId' };

/** A security key, or a passkey. Its user handle is the id of the user. */
function addKey(credential: Fields, record: Fields, factors: Factors): void {
  const data = jsonAt(credential, 'credentialData');
  const type = typeOf(credential) === PASSKEY ? PASSKEY : SECURITY_KEY;
  const id = textAt(record, 'id');
  factors.passkey({
    credentialId: data.credentialId,
    publicKey: data.credentialPublicKey,
    signCount: numberAt(data, 'counter'),
    rpId: textAt(objectAt(record, CONTEXT), RP_ID_OF[type]),
    userHandle: id === undefined ? undefined : Buffer.from(id),
    transports: data.transports,
    name: textAt(credential, 'userLabel'),
    secondFactorOnly: type === SECURITY_KEY,
  });
}

/** SHA-512, hashed once; `RS512` is Keycloak's own name of it. */
const HASHED_ONCE = /^(?:RS512|SHA-?512)$/i;

/** The codes that are left, as hashes. */
function addCodes(credential: Fields, factors: Factors): void {
  const data = jsonAt(credential, 'credentialData');
  const isKnown =
    HASHED_ONCE.test(textAt(data, 'algorithm') ?? 'RS512') && (numberAt(data, 'hashIterations') ?? 1) === 1;
  const hashes = objectsAt(jsonAt(credential, 'secretData'), 'codes').map((code) => textAt(code, 'encodedHashedValue'));
  const codes = hashes.flatMap((hash) => (hash === undefined ? [] : [{ hash, scheme: 'keycloak-sha512' }]));
  if (isKnown && codes.length > 0) factors.recoveryCodes(codes);
  else if (numberAt(data, 'remainingCodes') !== 0) factors.lost('recoveryCodes');
}
