/**
 * Logto: users of its API (`GET /api/users`, without hashes) and rows of its table `users`, as JSON or CSV.
 * https://openapi.logto.io/operation/operation-listusers; https://github.com/logto-io/logto (packages/schemas/tables/users.sql)
 */
import type { Note, Person, ProviderLink } from '../entry.ts';
import { bytesOf, type HashText, pbkdf2Text, SECOND_FACTOR_LOST, saltedDigest, unsupported } from '../hashes.ts';
import type { Fields } from '../source.ts';
import { firstText, isFields, jsonAt, listAt, parseJson, textAt } from '../values.ts';
import { tableSource } from './table.ts';

const EMAIL = ['primaryEmail', 'primary_email'];
const PHONE = ['primaryPhone', 'primary_phone'];

const ADDRESS_VERIFIED: Note = {
  id: 'LOGTO-ADDRESS-VERIFIED',
  message:
    'Logto has no mark for verified addresses: it verifies each one before it stores it, so it counts as verified.',
};

export const logto = tableSource({
  name: 'logto',
  title: 'Logto',
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
  spread: ['customData', 'custom_data'],
  dropped: `tenant_id primaryPhone primary_phone avatar identities ssoIdentities isSuspended is_suspended hasPassword
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

/** `{"google":{"userId":"…"}}` */
function linksOf(record: Fields): ProviderLink[] {
  return Object.entries(jsonAt(record, 'identities')).flatMap(([provider, identity]) => {
    const externalUserId = isFields(identity) ? textAt(identity, 'userId') : undefined;
    return externalUserId === undefined ? [] : [{ provider, externalUserId }];
  });
}

function factorsOf(record: Fields): Partial<Person> {
  const factors = [...listAt(record, 'mfaVerifications'), ...listAt(record, 'mfa_verifications')];
  const totp = factors.filter((one) => textAt(one, 'type') === 'Totp').map((one) => textAt(one, 'key'))[0];
  const isOther = factors.some((one) => textAt(one, 'type') === 'WebAuthn');
  return { totp, notes: isOther && totp === undefined ? [SECOND_FACTOR_LOST] : [] };
}
