/**
 * Logto: users of its API (`GET /api/users`, without hashes) and rows of its table `users`, as JSON or CSV.
 * https://openapi.logto.io/operation/operation-listusers
 * https://github.com/logto-io/logto/blob/master/packages/schemas/tables/users.sql, …/tables/user_sso_identities.sql,
 * https://github.com/logto-io/logto/blob/master/packages/schemas/src/foundations/jsonb-types/users.ts
 */
import type { Note, Person, ProviderLink } from '../entry.ts';
import { type Factors, openFactors } from '../factors.ts';
import { bytesOf, type HashText, pbkdf2Text, saltedDigest, unsupported } from '../hashes.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import type { Fields, Missing } from '../source.ts';
import {
  boolAt,
  firstText,
  genderOf,
  isFields,
  jsonAt,
  listAt,
  numberAt,
  objectsAt,
  parseJson,
  present,
  textAt,
} from '../values.ts';
import { tableSource } from './table.ts';

const EMAIL = ['primaryEmail', 'primary_email'];
const PHONE = ['primaryPhone', 'primary_phone'];

const ADDRESS_VERIFIED: Note = {
  id: 'LOGTO-ADDRESS-VERIFIED',
  message:
    'Logto has no mark for verified addresses: it verifies each one before it stores it, so it counts as verified.',
};

const JOIN = 'Export the users with the query of docs/sources/logto.md, which joins';

const MISSING: readonly Missing[] = [
  {
    id: 'LOGTO-PASSWORDS',
    what: 'password',
    message: 'The API of Logto returns no password hashes.',
    remedy: 'Export the table users (docs/sources/logto.md).',
    isIn: hasField('password_encrypted', 'passwordEncrypted'),
  },
  {
    id: 'LOGTO-SSO',
    what: 'links',
    message: 'These files do not contain the accounts of users at connections of companies (enterprise SSO).',
    remedy: `${JOIN} user_sso_identities as sso_identities; or ask the API for each user with includeSsoIdentities=true.`,
    isIn: hasField('ssoIdentities', 'sso_identities'),
  },
  {
    id: 'LOGTO-FACTORS',
    what: 'secondFactor',
    message: 'These files do not contain second factors, passkeys and recovery codes.',
    remedy: 'Export the table users, with its column mfa_verifications (docs/sources/logto.md).',
    isIn: hasField('mfa_verifications', 'mfaVerifications'),
  },
  {
    id: 'LOGTO-ROLES',
    what: 'roles',
    message: 'These files do not contain the roles and organizations of users.',
    remedy: `${JOIN} them as roles and organizations.`,
    isIn: hasField('roles', 'organizations'),
  },
];

export const logto = tableSource({
  name: 'logto',
  title: 'Logto',
  missing: MISSING,
  recognizes(record) {
    const has = (name: string) => Object.hasOwn(record, name);
    const isOfTable = has('primary_email') && has('password_encryption_method');
    return isOfTable || (has('primaryEmail') && has('isSuspended') && has('identities'));
  },
  states: { inactive: ['isSuspended', 'is_suspended'] },
  columns: {
    userId: 'id',
    userName: 'username',
    email: EMAIL,
    firstName: 'profile.givenName',
    lastName: 'profile.familyName',
    displayName: 'name',
    nickName: 'profile.nickname',
    language: 'profile.locale',
    gender: (record) => genderOf(textAt(jsonAt(record, 'profile'), 'gender')),
    // Logto stores numbers without the plus sign.
    phone: (record) => firstText(record, PHONE)?.replace(/^(?=[1-9])/, '+'),
    phoneVerified: (record) => (firstText(record, PHONE) === undefined ? undefined : true),
    passwordChangeRequired: ['isPasswordExpired', 'is_password_expired'],
  },
  parts: [
    hashOf,
    factorsOf,
    (record) => (firstText(record, EMAIL) === undefined ? {} : { emailVerified: true, notes: [ADDRESS_VERIFIED] }),
  ],
  links: linksOf,
  signIn(record, { hash, links = [] }) {
    const social = links.filter(({ provider }) => !provider.startsWith(SSO));
    const hasPassword = hash !== undefined || boolAt(record, 'hasPassword') === true;
    const isByCode = !hasPassword && links.length === 0;
    const hasAddress = firstText(record, EMAIL) !== undefined;
    return oldSignInOf({
      password: hasPassword,
      mailCode: isByCode && hasAddress,
      sms: isByCode && !hasAddress && firstText(record, PHONE) !== undefined,
      links: social,
      enterprise: social.length < links.length,
      passkey: factorKinds(record).includes('WebAuthn'),
    });
  },
  metadata: (record, rest) =>
    present({
      ...jsonAt(record, 'customData'),
      ...jsonAt(record, 'custom_data'),
      ...rest,
      picture: textAt(record, 'avatar'),
      profile: profileLeft(record),
    }),
  spread: ['customData', 'custom_data'],
  dropped: `tenant_id primaryPhone primary_phone avatar identities ssoIdentities sso_identities isSuspended is_suspended hasPassword
    passwordEncrypted password_encrypted passwordEncryptionMethod password_encryption_method lastSignInAt
    last_sign_in_at createdAt created_at updatedAt updated_at mfaVerifications mfa_verifications mfaVerificationFactors
    logtoConfig logto_config passwordUpdatedAt password_updated_at`,
});

const WHOLE = ['argon2i', 'argon2id', 'argon2d', 'bcrypt', 'md5', 'sha1', 'sha256'];
const DIGESTS = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'];

/**
 * `password_encrypted`, in the form that `password_encryption_method` names. The form `Legacy` is for hashes of other
 * systems: `["sha256",["salt","@"],"hash"]`, in which `@` is the password.
 * https://docs.logto.io/user-management/user-migration; https://github.com/logto-io/logto
 * (packages/core/src/utils/password.ts)
 */
function hashOf(record: Fields): HashText {
  const text = firstText(record, ['passwordEncrypted', 'password_encrypted']);
  if (text === undefined) return {};
  const method = firstText(record, ['passwordEncryptionMethod', 'password_encryption_method'])?.toLowerCase() ?? '';
  if (WHOLE.includes(method)) return { hash: text };
  return method === 'legacy' ? legacy(parseJson(text)) : unsupported(method);
}

function legacy(expression: unknown): HashText {
  const [algorithm, args, encrypted] = Array.isArray(expression) ? expression : [];
  const isWhole = typeof algorithm === 'string' && isTexts(args) && typeof encrypted === 'string';
  if (!isWhole) return unsupported('logto-legacy');
  if (algorithm === 'firebase-scrypt') return firebase(args, encrypted);
  if (algorithm === 'pbkdf2' || algorithm === 'pbkdf2Sync') return pbkdf2(args, encrypted);
  return digest(algorithm, args, encrypted);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/** Any number of texts, one after the other, of which one is the password; it must be the first or the last. */
function digest(algorithm: string, args: string[], encrypted: string): HashText {
  const [at, bytes] = [args.indexOf('@'), bytesOf(encrypted, 'hex')];
  const isOnce = at >= 0 && at === args.lastIndexOf('@');
  if (!DIGESTS.includes(algorithm) || !bytes || !isOnce) return unsupported(algorithm);
  const [before, after] = [args.slice(0, at).join(''), args.slice(at + 1).join('')];
  if (before !== '' && after !== '') return unsupported(algorithm);
  return { hash: saltedDigest(algorithm, after === '' ? 'prefix' : 'suffix', Buffer.from(before + after), bytes) };
}

/** Salt, rounds, length, digest, password. */
function pbkdf2([salt = '', rounds = '', length, algorithm = '']: string[], encrypted: string): HashText {
  const saltBytes = salt.startsWith('hex:') ? bytesOf(salt.slice('hex:'.length), 'hex') : Buffer.from(salt);
  const bytes = bytesOf(encrypted, 'hex');
  if (!saltBytes || !bytes || bytes.length !== Number(length)) return unsupported('pbkdf2');
  return { hash: pbkdf2Text(algorithm, Number(rounds), saltBytes, bytes) };
}

/** Salt, signer key, salt separator, rounds, memory cost, password. */
function firebase([salt, key, separator, rounds, memory]: string[], encrypted: string): HashText {
  return { hash: `$fbscrypt$v=1,n=${memory},r=${rounds},p=1,ss=${separator},sk=${key}$${salt}$${encrypted}` };
}

/** What the links of companies begin with; the id of the connection follows. */
const SSO = 'sso:';

/** `{"google":{"userId":"…"}}`, and the accounts at connections of companies, as the API and the table write them. */
function linksOf(record: Fields): ProviderLink[] {
  const social = Object.entries(jsonAt(record, 'identities')).flatMap(([provider, identity]) => {
    const externalUserId = isFields(identity) ? textAt(identity, 'userId') : undefined;
    return externalUserId === undefined ? [] : [{ provider, externalUserId }];
  });
  const ofCompanies = [...listAt(record, 'ssoIdentities'), ...listAt(record, 'sso_identities')].flatMap((identity) => {
    const connection = firstText(identity, ['ssoConnectorId', 'sso_connector_id', 'issuer']);
    const externalUserId = firstText(identity, ['identityId', 'identity_id']);
    return connection === undefined || externalUserId === undefined
      ? []
      : [{ provider: SSO + connection, externalUserId }];
  });
  return [...social, ...ofCompanies];
}

const PROFILE = ['givenName', 'familyName', 'nickname', 'locale'];

/** The claims of the profile that have no field here: `website`, `zoneinfo`, `birthdate`, `address` … */
function profileLeft(record: Fields): Fields | undefined {
  const left = Object.entries(jsonAt(record, 'profile')).filter(
    ([name, value]) => !PROFILE.includes(name) && value !== null && value !== '',
  );
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}

function verificationsOf(record: Fields): Fields[] {
  return [...listAt(record, 'mfaVerifications'), ...listAt(record, 'mfa_verifications')];
}

/** The API lists the kinds alone. */
function factorKinds(record: Fields): string[] {
  const named: unknown = record.mfaVerificationFactors;
  const kinds = verificationsOf(record).map((one) => textAt(one, 'type'));
  return [...kinds, ...(Array.isArray(named) ? named : [])].filter((kind) => typeof kind === 'string');
}

const NO_HASH: Note = {
  id: 'PASSWORD-NOT-EXPORTED',
  message: 'The user has a password, whose hash the API of Logto does not return: export the table users.',
};

/** The table has the secrets, the API the kinds alone. A passkey is a second factor too, so both may be lost with it. */
function factorsOf(record: Fields): Partial<Person> {
  const factors = openFactors();
  const verifications = verificationsOf(record);
  const hasApp = verifications.some((one) => textAt(one, 'type') === 'Totp');
  for (const one of verifications) {
    const type = textAt(one, 'type');
    if (type === 'Totp') factors.app({ secret: textAt(one, 'key') });
    else if (type === 'WebAuthn') addKey(one, factors, hasApp);
    else if (type === 'BackupCode') factors.recoveryCodes(codesOf(one));
    else factors.lost('secondFactor');
  }
  // A code by mail or text message (`EmailVerificationCode`, `PhoneVerificationCode`) goes to the own address or number.
  const named = factorKinds(record).filter((kind) => !verifications.some((one) => textAt(one, 'type') === kind));
  for (const kind of named) {
    if (kind === 'WebAuthn') factors.lost('secondFactor', 'passkey');
    else if (kind === 'EmailVerificationCode') factors.mail();
    else if (kind === 'PhoneVerificationCode') factors.sms();
    else factors.lost(kind === 'BackupCode' ? 'recoveryCodes' : 'secondFactor');
  }
  const phone = firstText(record, PHONE)?.replace(/^(?=[1-9])/, '+');
  const found = factors.fields({ email: firstText(record, EMAIL), emailVerified: true, phone, phoneVerified: true });
  const isHidden = boolAt(record, 'hasPassword') === true && hashOf(record).hash === undefined;
  return { ...found, notes: [...found.notes, ...(isHidden ? [NO_HASH] : [])] };
}

function addKey(one: Fields, factors: Factors, hasApp: boolean): void {
  const isTaken = factors.passkey({
    credentialId: one.credentialId,
    publicKey: one.publicKey,
    signCount: numberAt(one, 'counter'),
    rpId: textAt(one, 'rpId'),
    transports: one.transports,
    name: firstText(one, ['name', 'agent']),
  });
  if (!isTaken && !hasApp) factors.lost('secondFactor');
}

function codesOf(one: Fields): string[] {
  const left = objectsAt(one, 'codes').filter((code) => textAt(code, 'usedAt') === undefined);
  return left.flatMap((code) => textAt(code, 'code') ?? []);
}
