/**
 * Ory Kratos and Ory Network: identities as the admin API lists them, in pages or one per line.
 *
 * Guarantee: no trait is lost. Traits that do not become a field go into the metadata. Tokens of providers are never read.
 * https://www.ory.com/docs/kratos/manage-identities/overview, …/identity-schema
 * https://www.ory.com/docs/kratos/reference/api#tag/identity/operation/listIdentities
 * https://www.ory.com/docs/kratos/concepts/credentials
 * https://www.ory.com/docs/kratos/manage-identities/import-user-accounts-identities#hashed-passwords
 * https://github.com/ory/kratos (hash/hash_comparator.go)
 */
import type { Note, OldSignIn, Person, ProviderLink, Skipped } from '../entry.ts';
import { type Factors, goPasskey, openFactors } from '../factors.ts';
import { bytesOf, type HashText, hmacText, pbkdf2Text, saltedDigest, scryptText, unsupported } from '../hashes.ts';
import { oldSignInOf } from '../old-sign-in.ts';
import type { ExportFormat, Fields, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, fieldNames, firstText, genderOf, isFields, jsonAt, objectAt, objectsAt, textAt } from '../values.ts';

const ASK = 'Call the admin API with include_credential for';

const MISSING: readonly Missing[] = [
  {
    id: 'KRATOS-PASSWORDS',
    what: 'password',
    message: 'These files contain no password hashes.',
    remedy: `${ASK} password (docs/sources/kratos.md).`,
    isIn: (record) => Object.keys(configOf(objectAt(record, 'credentials'), 'password')).length > 0,
  },
  {
    id: 'KRATOS-LINKS',
    what: 'links',
    message: 'These files contain no accounts at external providers.',
    remedy: `${ASK} oidc and saml (docs/sources/kratos.md).`,
    isIn: (record) => hasKind(record, 'oidc', 'saml'),
  },
  {
    id: 'KRATOS-FACTORS',
    what: 'secondFactor',
    message: 'These files contain no second factors, passkeys, recovery codes and sign-ins by code.',
    remedy: `${ASK} totp, webauthn, passkey, lookup_secret and code (docs/sources/kratos.md).`,
    isIn: (record) => hasKind(record, 'totp', 'webauthn', 'passkey', 'lookup_secret', 'code'),
  },
];

function hasKind(record: Fields, ...kinds: readonly string[]): boolean {
  return kinds.some((kind) => Object.hasOwn(objectAt(record, 'credentials'), kind));
}

function configOf(credentials: Fields, kind: string): Fields {
  return jsonAt(objectAt(credentials, kind), 'config');
}

export const kratos: ExportFormat = {
  name: 'kratos',
  title: 'Ory Kratos',
  formats: ['json', 'ndjson'],
  jsonPaths: [['identities', '*']],
  missing: MISSING,
  recognizes: (record) => (typeof record.schema_id === 'string' && isFields(record.traits) ? 1 : 0),
  converter: () => convert,
};

// https://www.ory.com/docs/reference/api#tag/identity (Identity, state)
const STATES = { words: [{ field: 'state', active: 'active', inactive: 'inactive' }] };

function convert(record: Fields): Person | Skipped {
  const traits = jsonAt(record, 'traits');
  const { notes, ...credentials } = credentialsOf(record);
  const read = readSystemState(record, STATES);
  if (read.skip !== undefined) return { skip: read.skip };
  notes.push(...read.notes);
  const names = namesOf(record, traits, notes);
  const profile = profileOf(traits);
  const schema = textAt(record, 'schema_id');
  return {
    userId: textAt(record, 'id'),
    ...names,
    ...profile,
    state: read.state ?? 'active',
    ...credentials,
    metadata: {
      traits: traitsLeft(traits, [...Object.values(names), ...Object.values(profile)]),
      metadata_public: unlessEmpty(record.metadata_public),
      metadata_admin: unlessEmpty(record.metadata_admin),
      schema_id: schema === 'default' ? undefined : schema,
      external_id: textAt(record, 'external_id'),
      organization_id: textAt(record, 'organization_id'),
    },
    notes,
  };
}

function unlessEmpty(value: unknown): unknown {
  return isFields(value) && Object.keys(value).length === 0 ? undefined : value;
}

const ADDRESS_NO_NAME: Note = {
  id: 'LOGIN-BY-NAME-ONLY',
  message:
    'The user could sign in with a user name or the address; here the address signs in once it is verified, until then only the user name.',
};

/**
 * The login name, the address and the phone number. Kratos allows several login identifiers, Muster one user name: an
 * identifier that is neither an address nor a number takes precedence, because it would otherwise be lost.
 *
 * `emailVerified` is undefined where Kratos keeps no record of the address: its schema does not verify it.
 */
function namesOf(
  record: Fields,
  traits: Fields,
  notes: Note[],
): Pick<Person, 'userName' | 'email' | 'emailVerified' | 'phone' | 'phoneVerified'> {
  const identifiers = identifiersOf(record);
  const address = addressOf(record, 'email', traitAddress(traits));
  const email = address?.value ?? traitAddress(traits) ?? identifiers.find((identifier) => identifier.includes('@'));
  const number = addressOf(record, 'sms', traitPhone(traits));
  const userName = userNameOf(identifiers, traits, email);
  const isVerified = address?.isVerified === true;
  if (userName !== undefined && !isVerified && hasName(identifiers, email)) notes.push(ADDRESS_NO_NAME);
  return {
    userName,
    email,
    emailVerified: address?.isVerified,
    phone: number?.value ?? traitPhone(traits),
    phoneVerified: number?.isVerified ?? false,
  };
}

/** The identifiers for logging in by password: addresses, numbers, names. */
function identifiersOf(record: Fields): string[] {
  return textsAt(objectAt(objectAt(record, 'credentials'), 'password'), 'identifiers');
}

function textsAt(record: Fields, key: string): string[] {
  const values = record[key];
  return Array.isArray(values) ? values.filter((value) => typeof value === 'string') : [];
}

interface Address {
  value: string;
  isVerified: boolean;
}

/** The address that the traits name, else the first one. */
function addressOf(record: Fields, via: string, usual: string | undefined): Address | undefined {
  const addresses = objectsAt(record, 'verifiable_addresses').flatMap((address) => {
    const value = textAt(address, 'value');
    return value === undefined || textAt(address, 'via') !== via
      ? []
      : [{ value, isVerified: boolAt(address, 'verified') === true }];
  });
  return addresses.find(({ value }) => value.toLowerCase() === usual?.toLowerCase()) ?? addresses[0];
}

const ADDRESSES = ['email', 'email_address', 'mail'];

function traitAddress(traits: Fields): string | undefined {
  return firstText(traits, ADDRESSES);
}

const PHONES = ['phone', 'phone_number', 'phoneNumber', 'mobile'];

function traitPhone(traits: Fields): string | undefined {
  return firstText(traits, PHONES);
}

/** Undefined: the address is the user name. Identifiers are in lower case, traits as the user wrote them. */
function userNameOf(identifiers: string[], traits: Fields, email: string | undefined): string | undefined {
  const trait = traitUserName(traits);
  if (identifiers.length === 0 || hasName(identifiers, trait)) return trait;
  const name = identifiers.find((identifier) => !/@|^\+[0-9]/.test(identifier));
  return name ?? (hasName(identifiers, email) ? undefined : identifiers[0]);
}

const USER_NAMES = ['username', 'user_name', 'userName', 'preferred_username'];

function traitUserName(traits: Fields): string | undefined {
  return firstText(traits, USER_NAMES);
}

function hasName(identifiers: string[], name: string | undefined): boolean {
  return identifiers.some((identifier) => identifier.toLowerCase() === name?.toLowerCase());
}

type Profile = Pick<Person, 'firstName' | 'lastName' | 'displayName' | 'nickName' | 'language' | 'gender'>;

const FIRST_NAMES = ['first', 'first_name', 'firstName', 'given', 'given_name', 'givenName'];
const LAST_NAMES = ['last', 'last_name', 'lastName', 'family', 'family_name', 'familyName', 'surname'];
const DISPLAY_NAMES = ['display_name', 'displayName', 'full_name', 'fullName', 'full', 'display', 'name'];
const NICK_NAMES = ['nickname', 'nick_name', 'nickName'];
const LANGUAGES = ['locale', 'language', 'lang', 'preferred_language', 'preferredLanguage'];

/** `name` is a text or an object of parts; the parts may also be traits themselves. */
function profileOf(traits: Fields): Profile {
  const parts = { ...traits, ...objectAt(traits, 'name') };
  return {
    firstName: firstText(parts, FIRST_NAMES),
    lastName: firstText(parts, LAST_NAMES),
    displayName: firstText(parts, DISPLAY_NAMES),
    nickName: firstText(traits, NICK_NAMES),
    language: firstText(traits, LANGUAGES),
    gender: genderOf(textAt(traits, 'gender')),
  };
}

const PROFILE = [FIRST_NAMES, LAST_NAMES, DISPLAY_NAMES, NICK_NAMES, LANGUAGES].flat();
const KNOWN = [...PROFILE, ...ADDRESSES, ...PHONES, ...USER_NAMES];

/** @param taken the values that became fields */
function traitsLeft(traits: Fields, taken: readonly unknown[]): Fields | undefined {
  const isTaken = (record: Fields, name: string) => KNOWN.includes(name) && taken.includes(textAt(record, name));
  const left = Object.keys(traits).filter((name) => {
    const parts = traits[name];
    if (name !== 'name' || !isFields(parts)) return !isTaken(traits, name);
    return !Object.keys(parts).every((part) => isTaken(parts, part));
  });
  return left.length > 0 ? Object.fromEntries(left.map((name) => [name, traits[name]])) : undefined;
}

const CREDENTIAL_DROPPED: Note = {
  id: 'CREDENTIAL-DROPPED',
  message: 'The user has a credential of another kind than Muster knows; it is dropped.',
};

/** Kinds of https://www.ory.com/docs/kratos/concepts/credentials that are read, or that no user signs in with. */
const KNOWN_KINDS = fieldNames(`password oidc saml totp code webauthn passkey lookup_secret deviceauthn profile
  link_recovery code_recovery`);

type Credentials = Pick<Person, 'password' | 'hash' | 'totps' | 'recoveryCodes' | 'passkeys' | 'links' | 'oldSignIn'>;

/**
 * The password, the factors and the accounts at external providers. The API returns the `config` of a
 * credential only on request; without it the credential cannot be imported, which is noted.
 */
function credentialsOf(record: Fields): Credentials & { notes: Note[] } {
  const credentials = objectAt(record, 'credentials');
  const { notes: passwordNotes = [], ...password } = passwordOf(credentials);
  const { notes: lost, ...factors } = factorsOf(credentials).fields({});
  const isUnknown = Object.keys(credentials).some((kind) => !KNOWN_KINDS.has(kind));
  const notes = [...passwordNotes, ...lost, ...(isUnknown ? [CREDENTIAL_DROPPED] : [])];
  const links = ['oidc', 'saml'].flatMap((kind) => linksOf(objectAt(credentials, kind)));
  return {
    ...password,
    ...factors,
    links,
    oldSignIn: signInOf(credentials, password),
    notes,
  };
}

/** A device of Ory's own kind (`deviceauthn`) is bound to its app. */
function factorsOf(credentials: Fields): Factors {
  const factors = openFactors();
  const has = (kind: string) => Object.hasOwn(credentials, kind);
  if (has('totp')) factors.app({ secret: textAt(configOf(credentials, 'totp'), 'totp_url') });
  addKeys(credentials, factors);
  if (has('lookup_secret')) addCodes(configOf(credentials, 'lookup_secret'), factors);
  if (has('deviceauthn')) factors.lost('secondFactor');
  return factors;
}

/** A security key (`webauthn`) is a second factor, unless it was set up for signing in without a password. */
function addKeys(credentials: Fields, factors: Factors): void {
  for (const kind of ['webauthn', 'passkey']) {
    if (!Object.hasOwn(credentials, kind)) continue;
    const config = configOf(credentials, kind);
    const keys = objectsAt(config, 'credentials');
    // Without its `config`, what kind of key it is stays unknown.
    if (keys.length === 0) factors.lost(kind === 'passkey' ? 'passkey' : 'secondFactor');
    for (const key of keys) {
      const secondFactorOnly = kind === 'webauthn' && boolAt(key, 'is_passwordless') !== true;
      factors.passkey({ ...goPasskey(key), userHandle: config.user_handle, secondFactorOnly });
    }
  }
}

/** The year 1 is a time that Go did not set. */
const NEVER_USED = /^0001-/;

/** Recovery codes are plain; each has the time at which it was used. */
function addCodes(config: Fields, factors: Factors): void {
  const all = objectsAt(config, 'recovery_codes');
  const isLeft = (code: Fields) => NEVER_USED.test(textAt(code, 'used_at') ?? '0001-');
  if (all.length === 0) factors.lost('recoveryCodes');
  factors.recoveryCodes(all.filter(isLeft).flatMap((code) => textAt(code, 'code') ?? []));
}

/** A code goes to the addresses of its credential, else to its identifiers. */
function signInOf(credentials: Fields, { password, hash }: Credentials): OldSignIn | undefined {
  const code = objectAt(credentials, 'code');
  const addresses = objectsAt(configOf(credentials, 'code'), 'addresses').map((one) => textAt(one, 'channel'));
  const identifiers = textsAt(code, 'identifiers').map((text) => (text.includes('@') ? 'email' : 'sms'));
  const channels = addresses.length > 0 ? addresses : identifiers;
  const providers = objectsAt(configOf(credentials, 'oidc'), 'providers');
  const isOfCompany = (provider: Fields) => textAt(provider, 'organization') !== undefined;
  const isKey = (key: Fields) => boolAt(key, 'is_passwordless') === true;
  return oldSignInOf({
    password: password !== undefined || hash !== undefined,
    mailCode: channels.includes('email') || (Object.hasOwn(credentials, 'code') && channels.length === 0),
    sms: channels.includes('sms'),
    provider: Object.hasOwn(credentials, 'oidc') && (providers.length === 0 || !providers.every(isOfCompany)),
    enterprise: Object.hasOwn(credentials, 'saml') || providers.some(isOfCompany),
    passkey:
      Object.hasOwn(credentials, 'passkey') || objectsAt(configOf(credentials, 'webauthn'), 'credentials').some(isKey),
  });
}

const NOT_EXPORTED: Note = {
  id: 'PASSWORD-NOT-EXPORTED',
  message: 'The export lacks the password hash, if the user has one: call the API with include_credential=password.',
};

const BY_HOOK: Note = {
  id: 'PASSWORD-ELSEWHERE',
  message:
    "The password is still in the system before Kratos, checked by Kratos' migration hook; the export has no hash of it.",
};

/** A credential without a hash also exists if the schema requires one while the user logs in by other means. */
function passwordOf(credentials: Fields): Pick<Person, 'password' | 'hash'> & { notes?: Note[] } {
  const credential = objectAt(credentials, 'password');
  if (Object.keys(credential).length === 0) return {};
  const { password, ...config } = jsonAt(credential, 'config');
  const hash = textAt(config, 'hashed_password');
  if (hash !== undefined) return hashOf(hash);
  // Bodies for importing into Kratos have a plain password.
  if (typeof password === 'string' && password !== '') return { password };
  if (boolAt(config, 'use_password_migration_hook') === true) return { notes: [BY_HOOK] };
  return 'config' in credential ? {} : { notes: [NOT_EXPORTED] };
}

/** Links from the providers or, if the API was not asked for them, from identifiers such as `google:123`. */
function linksOf(credential: Fields): ProviderLink[] {
  const providers = objectsAt(jsonAt(credential, 'config'), 'providers').map((provider) => {
    return { provider: textAt(provider, 'provider'), externalUserId: textAt(provider, 'subject') };
  });
  const identifiers = textsAt(credential, 'identifiers').map((identifier) => {
    const [, provider, externalUserId] = /^([^:]+):(.+)$/.exec(identifier) ?? [];
    return { provider, externalUserId };
  });
  return (providers.length > 0 ? providers : identifiers).flatMap(({ provider, externalUserId }) =>
    provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }],
  );
}

const CRYPT: Readonly<Record<string, string>> = { 'md5-crypt': '1', 'sha256-crypt': '5', 'sha512-crypt': '6' };
const SALTED = ['md5', 'sha1', 'sha256', 'sha512'];

/**
 * A hash that resembles the Modular Crypt Format but often differs from it.
 * @param text `hashed_password`; bcrypt, argon2 and `{SSHA}` are standard, and the service judges all other texts
 */
function hashOf(text: string): HashText {
  const [before, scheme = '', ...fields] = text.split('$');
  if (before !== '') return { hash: text };
  if (Object.hasOwn(CRYPT, scheme)) return { hash: `$${CRYPT[scheme]}$${fields.join('$')}` };
  if (scheme === 'firescrypt') return firescrypt(fields);
  if (scheme === 'scrypt') return scrypt(fields);
  if (scheme.startsWith('pbkdf2-')) return pbkdf2(scheme.slice('pbkdf2-'.length), fields);
  if (scheme.startsWith('hmac-')) return hmac(scheme.slice('hmac-'.length), fields);
  return SALTED.includes(scheme) ? (saltedDigestOf(scheme, fields) ?? unsupported(scheme)) : { hash: text };
}

const COST = /^ln=([0-9]+),r=([0-9]+),p=([0-9]+)$/;

/** `ln=14,r=8,p=1$salt$hash$separator$signer key`: here `ln` is the logarithm. */
function firescrypt([parameters = '', salt, digest, separator, signerKey]: string[]): HashText {
  const [, n, r, p] = COST.exec(parameters) ?? [];
  if (n === undefined || signerKey === undefined) return unsupported('firescrypt');
  return { hash: `$fbscrypt$v=1,n=${n},r=${r},p=${p},ss=${separator},sk=${signerKey}$${salt}$${digest}` };
}

/** `ln=<N>,r=8,p=1$salt$hash`: despite its name, `ln` is N itself; other programs write its logarithm. */
function scrypt([parameters = '', saltText, digestText]: string[]): HashText {
  const [, n, r, p] = COST.exec(parameters) ?? [];
  const [salt, digest] = [bytesAt(saltText), bytesAt(digestText)];
  const ln = Math.log2(Number(n));
  if (!Number.isInteger(ln) || !salt || !digest) return unsupported('scrypt');
  return { hash: scryptText({ ln, r: Number(r), p: Number(p) }, salt, digest) };
}

function bytesAt(field: string | undefined): Buffer | undefined {
  return field === undefined ? undefined : bytesOf(field, 'base64');
}

/** Unlike other programs, Kratos uses SHA-3 for these two. */
const SHA3: Readonly<Record<string, string>> = { sha224: 'sha3-224', sha384: 'sha3-384' };

/** `i=<rounds>,l=<length>$salt$hash`; the length is that of the hash. */
function pbkdf2(algorithm: string, [parameters = '', saltText, digestText]: string[]): HashText {
  const rounds = /^i=([0-9]+),l=[0-9]+$/.exec(parameters)?.[1];
  const [salt, digest] = [bytesAt(saltText), bytesAt(digestText)];
  const name = SHA3[algorithm] ?? algorithm;
  const isKnown = ['sha1', 'sha256', 'sha512', ...Object.values(SHA3)].includes(name);
  if (!isKnown || rounds === undefined || !salt || !digest) return unsupported(`pbkdf2-${name}`);
  return { hash: pbkdf2Text(name, Number(rounds), salt, digest) };
}

/** `hash$key`; the hash is base64 of the hexadecimal digest. */
function hmac(algorithm: string, [digestText, keyText]: string[]): HashText {
  const [key, digest] = [bytesAt(keyText), bytesOf(bytesAt(digestText)?.toString('latin1') ?? '-', 'hex')];
  // MD4 (RFC 1320) is obsolete and not supported.
  if (algorithm === 'md4' || !key || !digest) return unsupported(`hmac-${algorithm}`);
  return { hash: hmacText(algorithm, key, digest) };
}

const PASSWORD = '{PASSWORD}';

/**
 * A salted digest, `$sha256$pf=<format>$salt$hash`, each part in base64. The format says how salt and password are
 * concatenated: `{SALT}{PASSWORD}`, or with additional text, which becomes part of the salt. Text on both sides of the
 * password cannot be expressed.
 * @param fields the parts after the name of the digest; MD5 may lack format and salt
 * @returns undefined when it cannot be expressed
 */
function saltedDigestOf(algorithm: string, fields: string[]): HashText | undefined {
  const isBare = algorithm === 'md5' && fields.length === 1;
  const [format, saltText, digestText] = isBare ? [`pf=${btoa(PASSWORD)}`, '', fields[0]] : fields;
  const digest = bytesOf(digestText ?? '-', 'base64');
  const [before, after] = surroundingsOf(format ?? '', saltText ?? '') ?? [];
  if (!digest || !before || !after || (before.length > 0 && after.length > 0)) return undefined;
  const isSuffix = after.length > 0;
  return { hash: saltedDigest(algorithm, isSuffix ? 'suffix' : 'prefix', isSuffix ? after : before, digest) };
}

const SALT = '{SALT}';

/** The bytes before and after the password. */
function surroundingsOf(format: string, saltText: string): Buffer[] | undefined {
  const pattern = format.startsWith('pf=') ? bytesOf(format.slice('pf='.length), 'base64') : undefined;
  const salt = bytesOf(saltText, 'base64');
  const parts = pattern?.toString('latin1').split(PASSWORD) ?? [];
  if (salt === undefined || parts.length !== 2) return undefined;
  // Byte by byte, because the salt may not be text.
  const letters = salt.toString('latin1');
  return parts.map((part) =>
    Buffer.from(
      part.replaceAll(SALT, () => letters),
      'latin1',
    ),
  );
}
