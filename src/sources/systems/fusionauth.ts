/**
 * FusionAuth: request bodies of its import, and responses of its user search and of `GET /api/user`. The API never
 * returns hashes; they come from a body that was made for its import, or from its database.
 * https://fusionauth.io/docs/apis/users/import (encodings: salt and hash are base64, except for bcrypt and phpass)
 * https://fusionauth.io/docs/apis/users/search
 * https://fusionauth.io/docs/reference/password-hashes (how each is computed)
 */
import { Secret } from 'otpauth';
import { schemeOf } from '../../passwords/registry.ts';
import { ALPHABET, encodeCrypt64 } from '../../passwords/schemes/crypt3.ts';
import type { OldSignIn, Person, ProviderLink, Skipped } from '../entry.ts';
import { type FactorFields, openFactors } from '../factors.ts';
import { bytesOf, type HashText, unsupported } from '../hashes.ts';
import { signedInBy } from '../old-sign-in.ts';
import type { ExportFormat, Fields, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, CONTEXT, numberAt, objectAt, objectsAt, textAt } from '../values.ts';

const MISSING: readonly Missing[] = [
  {
    id: 'FUSIONAUTH-PASSWORDS',
    what: 'password',
    message: 'The API of FusionAuth never returns password hashes.',
    remedy:
      'Take password, salt, factor and encryption_scheme of the table identities into each user, as docs/sources/fusionauth.md shows.',
    isIn: (record) => textAt(record, 'password') !== undefined,
  },
  {
    id: 'FUSIONAUTH-LINKS',
    what: 'links',
    message: 'The answers of the user search contain no accounts at identity providers.',
    remedy:
      'Add identityProviderLinks of the answer of GET /api/identity-provider/link?userId={id} to each user, under the same name.',
    isIn: (record) => Object.hasOwn(record, 'identityProviderLinks'),
  },
  {
    id: 'FUSIONAUTH-PASSKEYS',
    what: 'passkey',
    message: 'The answers of the user search contain no passkeys.',
    remedy:
      'Add credentials of the answer of GET /api/webauthn?userId={id} to each user, as the property webAuthnCredentials.',
    isIn: (record) => Object.hasOwn(record, 'webAuthnCredentials'),
  },
  {
    id: 'FUSIONAUTH-RECOVERY-CODES',
    what: 'recoveryCodes',
    message: 'The answers of the user search contain no recovery codes.',
    remedy:
      'Add recoveryCodes of the answer of GET /api/user/two-factor/recovery-code/{userId} to each user, as twoFactor.recoveryCodes.',
    isIn: (record) => Object.hasOwn(objectAt(record, 'twoFactor'), 'recoveryCodes'),
  },
];

export const fusionauth: ExportFormat = {
  name: 'fusionauth',
  title: 'FusionAuth',
  formats: ['json', 'ndjson'],
  jsonPaths: [['users', '*'], ['user']],
  recognizes,
  fields: { isTable: false, isRead: (name) => ['usernameStatus'].includes(name) },
  missing: MISSING,
  converter: () => convert,
};

function recognizes(record: Fields): number {
  if (textAt(record, 'encryptionScheme') !== undefined) return 1;
  const has = (key: string, field: string) => objectsAt(record, key).some((each) => Object.hasOwn(each, field));
  if (has('registrations', 'applicationId') || has('memberships', 'groupId')) return 0.9;
  if (Object.hasOwn(record, 'usernameStatus') || Object.hasOwn(record, 'breachedPasswordLastCheckedInstant'))
    return 0.9;
  const isDated = Object.hasOwn(record, 'insertInstant') || Object.hasOwn(record, 'lastUpdateInstant');
  return isDated && Object.hasOwn(record, 'active') ? 0.8 : 0;
}

const STATES = { active: ['active'], activeUntil: ['expiry'] };

function convert(record: Fields): Person | Skipped {
  const { hash, password, notes = [] } = passwordOf(record);
  const read = readSystemState(record, STATES);
  if (read.skip !== undefined) return { skip: read.skip };
  const email = textAt(record, 'email');
  const phone = textAt(record, 'phoneNumber') ?? textAt(record, 'mobilePhone');
  const factors = factorsOf(record, {
    // FusionAuth sends mail to this address if the user has no other.
    email: email ?? textAt(objectAt(record, 'data'), 'email'),
    emailVerified: email === undefined ? undefined : isVerified(record, 'email'),
    phone,
    phoneVerified: Object.hasOwn(record, 'phoneNumber') ? isVerified(record, 'phoneNumber') : undefined,
  });
  return {
    orgId: textAt(record, 'tenantId'),
    userId: textAt(record, 'id'),
    userName: textAt(record, 'username'),
    firstName: textAt(record, 'firstName'),
    lastName: textAt(record, 'lastName'),
    displayName: textAt(record, 'fullName'),
    language: firstText(record.preferredLanguages),
    state: read.state,
    hash,
    password,
    passwordChangeRequired: boolAt(record, 'passwordChangeRequired'),
    metadata: metadataOf(record, phone),
    links: objectsAt(record, 'identityProviderLinks').flatMap(linkOf),
    oldSignIn: waysOf(record, hash !== undefined || password !== undefined),
    ...factors,
    notes: [...read.notes, ...notes, ...factors.notes],
  };
}

/** A link of https://fusionauth.io/docs/apis/identity-providers/links. */
function linkOf(link: Fields): ProviderLink[] {
  const provider = textAt(link, 'identityProviderName') ?? textAt(link, 'identityProviderType');
  const externalUserId = textAt(link, 'identityProviderUserId');
  if (provider === undefined || externalUserId === undefined) return [];
  return [{ provider, externalUserId, displayName: textAt(link, 'displayName') }];
}

/** Types of identity providers of companies; OpenID Connect may be anybody's, and mostly is a company's. */
const ENTERPRISE = /^(?:SAMLv2|LDAP|OpenIDConnect|HYPR|ExternalJWT)/i;

function waysOf(record: Fields, hasPassword: boolean): OldSignIn | undefined {
  const types = objectsAt(record, 'identityProviderLinks').map((link) => textAt(link, 'identityProviderType') ?? '');
  return signedInBy({
    password: hasPassword,
    provider: types.some((type) => !ENTERPRISE.test(type)),
    enterprise: types.some((type) => ENTERPRISE.test(type)),
    passkey: objectsAt(record, 'webAuthnCredentials').length > 0,
  });
}

/** Without a scheme the password is plain text; an import body may name one scheme for all its users. */
function passwordOf(record: Fields): HashText & { password?: string } {
  const scheme = textAt(record, 'encryptionScheme') ?? textAt(objectAt(record, CONTEXT), 'encryptionScheme');
  if (scheme !== undefined) return hashOf(record, scheme);
  const { password } = record;
  return typeof password === 'string' && password !== '' ? { password } : {};
}

/** Since 1.59 each identity has its own verification state; before, the user had one. */
function isVerified(record: Fields, type: string): boolean | undefined {
  const identity = objectsAt(record, 'identities').find((each) => textAt(each, 'type') === type);
  return (identity && boolAt(identity, 'verified')) ?? boolAt(record, 'verified');
}

function firstText(value: unknown): string | undefined {
  return Array.isArray(value) && typeof value[0] === 'string' ? value[0] : undefined;
}

function metadataOf(record: Fields, phone: string | undefined): Record<string, unknown> {
  const data = objectAt(record, 'data');
  const mobilePhone = textAt(record, 'mobilePhone');
  const kept = ['middleName', 'birthDate', 'imageUrl', 'timezone', 'parentEmail'];
  return {
    ...Object.fromEntries(kept.map((key) => [key, textAt(record, key)])),
    mobilePhone: mobilePhone === phone ? undefined : mobilePhone,
    data: Object.keys(data).length > 0 ? data : undefined,
    registrations: picked(record, 'registrations', ['applicationId', 'username', 'roles', 'data']),
    memberships: picked(record, 'memberships', ['groupId', 'data']),
  };
}

/** Keeps these fields of each element, not the system's times, ids and tokens. */
function picked(record: Fields, key: string, fields: readonly string[]): Fields[] | undefined {
  const elements = objectsAt(record, key).map((each) =>
    Object.fromEntries(fields.filter((field) => Object.hasOwn(each, field)).map((field) => [field, each[field]])),
  );
  return elements.length > 0 ? elements : undefined;
}

type Contacts = Pick<Person, 'email' | 'emailVerified' | 'phone' | 'phoneVerified'>;

/**
 * The methods of `twoFactor` (before 1.26 `twoFactorSecret`), recovery codes, which are plain, and passkeys. Secrets of
 * apps are base64, while apps use base32; `authenticator` has the parameters, which are SHA-1, 6 digits and 30 seconds
 * for apps that FusionAuth itself set up.
 * https://fusionauth.io/docs/apis/users/import (user.twoFactor), https://fusionauth.io/docs/apis/webauthn
 */
function factorsOf(record: Fields, contacts: Contacts): Contacts & FactorFields {
  const factors = openFactors();
  for (const method of [...objectsAt(objectAt(record, 'twoFactor'), 'methods'), ...oldMethod(record)]) {
    const kind = textAt(method, 'method');
    if (kind === 'email') factors.mail(textAt(method, 'email'));
    else if (kind === 'sms') factors.sms(textAt(method, 'mobilePhone'));
    else factors.app({ ...parametersOf(method), secret: secretOf(method) });
  }
  const { recoveryCodes } = objectAt(record, 'twoFactor');
  factors.recoveryCodes(Array.isArray(recoveryCodes) ? recoveryCodes.filter((code) => typeof code === 'string') : []);
  for (const passkey of objectsAt(record, 'webAuthnCredentials')) {
    factors.passkey({
      credentialId: passkey.credentialId,
      publicKey: passkey.publicKey,
      signCount: numberAt(passkey, 'signCount'),
      rpId: textAt(passkey, 'relyingPartyId'),
      transports: passkey.transports,
      name: textAt(passkey, 'displayName') ?? textAt(passkey, 'name'),
    });
  }
  return { ...contacts, ...factors.fields(contacts) };
}

/** The secret of an authenticator app in base32; undefined for other methods, and when the export omits it. */
function secretOf(method: Fields): string | undefined {
  const secret = textAt(method, 'method') === 'authenticator' ? textAt(method, 'secret') : undefined;
  const bytes = secret === undefined ? undefined : bytesOf(secret, 'base64');
  return bytes === undefined ? undefined : new Secret({ buffer: Uint8Array.from(bytes).buffer }).base32;
}

function parametersOf(method: Fields) {
  const given = objectAt(method, 'authenticator');
  const [digits, period] = [numberAt(given, 'codeLength'), numberAt(given, 'timeStep')];
  return { algorithm: textAt(given, 'algorithm'), digits, period };
}

function oldMethod(record: Fields): Fields[] {
  if (boolAt(record, 'twoFactorEnabled') !== true) return [];
  return [{ method: 'authenticator', secret: record.twoFactorSecret }];
}

interface Parts {
  hash: string;
  salt: string;
  /** As text; empty when it is absent. */
  factor: string;
}

type Maker = (parts: Parts) => HashText;

const MAKERS: Readonly<Record<string, Maker>> = {
  bcrypt,
  'salted-md5': digestOf('md5'),
  'salted-sha256': digestOf('sha256'),
  'salted-hmac-sha256': ({ hash, salt }) => ({ hash: `$hmac-sha256$${salt}$${hash}` }),
  // The key is as long as the hash.
  'salted-pbkdf2-hmac-sha256': pbkdf2Of('sha256'),
  'salted-pbkdf2-hmac-sha256-512': pbkdf2Of('sha256'),
  'salted-pbkdf2-hmac-sha512-512': pbkdf2Of('sha512'),
  'phpass-md5': phpassOf('phpass-md5', '$P$', phpassMd5Hash),
  'phpass-sha512': phpassOf('phpass-sha512', '$S$', (hash) => hash),
  // The plugin in FusionAuth's WordPress guide stores the whole phpass text in base64.
  'example-wordpress-phpass': wholeText('example-wordpress-phpass'),
};

/**
 * The hash of a record that has a scheme: separate hash, salt and factor. Invalid parts are passed on unchanged, so
 * that the scheme reports what is wrong with them.
 */
function hashOf(record: Fields, scheme: string): HashText {
  const hash = textAt(record, 'password');
  if (hash === undefined) return {};
  const maker = Object.hasOwn(MAKERS, scheme) ? MAKERS[scheme] : undefined;
  const parts = { hash, salt: textAt(record, 'salt') ?? '', factor: textAt(record, 'factor') ?? '' };
  return maker === undefined ? unsupported(scheme) : maker(parts);
}

/** Salt and hash are in bcrypt's own base64: concatenated, they are the end of the standard bcrypt text. */
function bcrypt({ hash, salt, factor }: Parts): HashText {
  return { hash: hash.startsWith('$2') ? hash : `$2a$${factor.padStart(2, '0')}$${salt}${hash}` };
}

/** The digest of password and salt, digested repeatedly: `factor` rounds in all. */
function digestOf(algorithm: string): Maker {
  return ({ hash, salt, factor }) => ({ hash: `$salted-${algorithm}-suffix$r=${factor}$${salt}$${hash}` });
}

function pbkdf2Of(algorithm: string): Maker {
  return ({ hash, salt, factor }) => ({ hash: `$pbkdf2-${algorithm}$${factor}$${salt}$${hash}` });
}

/** phpass writes the logarithm of the rounds as one character; FusionAuth writes their number. */
function phpassOf(name: string, identifier: string, hashText: (hash: string) => string): Maker {
  return ({ hash, salt, factor }) => {
    const rounds = ALPHABET[Math.log2(Number(factor))];
    const saltText = phpassSalt(salt);
    if (rounds === undefined || saltText === undefined) return unsupported(name);
    return { hash: `${identifier}${rounds}${saltText}${hashText(hash)}` };
  };
}

/** Eight characters, also if they are encoded in base64. */
function phpassSalt(salt: string): string | undefined {
  const text = salt.length === 12 ? bytesOf(salt, 'base64')?.toString('latin1') : salt;
  return text !== undefined && /^[./0-9A-Za-z]{8}$/.test(text) ? text : undefined;
}

/** phpass' own base64, or standard base64, which has other characters at the 22nd place. */
function phpassMd5Hash(hash: string): string {
  if (/^[./0-9A-Za-z]{21}[./01]$/.test(hash)) return hash;
  const bytes = bytesOf(hash, 'base64');
  return bytes?.length === 16 ? encodeCrypt64(bytes) : hash;
}

function wholeText(name: string): Maker {
  return ({ hash }) => {
    const text = bytesOf(hash, 'base64')?.toString('latin1') ?? '';
    return schemeOf(text) === undefined ? unsupported(name) : { hash: text };
  };
}
