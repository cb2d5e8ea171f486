import type { Person } from '../entry.ts';
import { bytesOf, type HashText, SECOND_FACTOR_LOST, scryptText, unsupported } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, fieldNames, jsonAt, numberAt, restOf, textAt } from '../values.ts';

/**
 * Appwrite's hashes: `password`, in the form that `hash` names, with `hashOptions`. Those other than argon2 were
 * imported from other systems and not used since.
 * https://appwrite.io/docs/products/auth/security (password hashing);
 * https://github.com/utopia-php/auth (src/Auth/Hashes)
 */

const WHOLE = ['argon2', 'bcrypt', 'md5', 'phpass'];
const SHA = ['sha1', 'sha256', 'sha512'];
/** Firebase's cost in Appwrite's code. */
const FIREBASE = 'n=14,r=8,p=1';

export function hashOf(record: Fields): HashText {
  const [text, name = ''] = [textAt(record, 'password'), textAt(record, 'hash')?.toLowerCase()];
  if (text === undefined) return {};
  const options = jsonAt(record, 'hashOptions');
  if (WHOLE.includes(name)) return { hash: text };
  if (name === 'sha') return SHA.includes(textAt(options, 'version') ?? '') ? { hash: text } : unsupported('sha3');
  if (name === 'scrypt') return scrypt(text, options);
  return name === 'scryptmodified' || name === 'scryptmod' ? firebase(text, options) : unsupported(name);
}

/** The salt is text, the hash is hexadecimal. */
function scrypt(text: string, options: Fields): HashText {
  const [n, r, p] = ['costCpu', 'costMemory', 'costParallel'].map((name) => numberAt(options, name));
  const [ln, digest] = [Math.log2(n ?? 0), bytesOf(text, 'hex')];
  if (!Number.isInteger(ln) || r === undefined || p === undefined || !digest) return unsupported('scrypt');
  return { hash: scryptText({ ln, r, p }, Buffer.from(textAt(options, 'salt') ?? ''), digest) };
}

function firebase(text: string, options: Fields): HashText {
  const [salt, separator, key] = ['salt', 'saltSeparator', 'signerKey'].map((name) => textAt(options, name));
  if (salt === undefined || key === undefined) return unsupported('scryptmodified');
  return { hash: `$fbscrypt$v=1,${FIREBASE},ss=${separator ?? ''},sk=${key}$${salt}$${text}` };
}

/**
 * Appwrite: users as its API answers `GET /v1/users`, with their hashes.
 * https://appwrite.io/docs/references/cloud/server-rest/users; https://appwrite.io/docs/products/auth/migrations
 */

const KNOWN =
  fieldNames(`$id $sequence $createdAt $updatedAt $permissions $databaseId $collectionId name password hash hashOptions
  registration status passwordUpdate email phone emailVerification phoneVerification mfa prefs targets accessedAt
  impersonator emailCanonical emailIsFree emailIsDisposable emailIsCorporate emailIsCanonical`);

export const appwrite: Source = {
  name: 'appwrite',
  title: 'Appwrite',
  formats: ['json', 'ndjson'],
  recognizes: (record) =>
    Object.hasOwn(record, '$id') && Object.hasOwn(record, 'emailVerification') && Object.hasOwn(record, 'registration')
      ? 1
      : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  const { hash, notes = [] } = hashOf(record);
  return {
    userId: textAt(record, '$id'),
    email: textAt(record, 'email'),
    emailVerified: boolAt(record, 'emailVerification'),
    displayName: textAt(record, 'name'),
    phone: textAt(record, 'phone'),
    phoneVerified: boolAt(record, 'phoneVerification'),
    state: boolAt(record, 'status') === false ? 'inactive' : undefined,
    hash,
    metadata: { ...jsonAt(record, 'prefs'), ...restOf(record, KNOWN) },
    notes: [...notes, ...(boolAt(record, 'mfa') === true ? [SECOND_FACTOR_LOST] : [])],
  };
}
