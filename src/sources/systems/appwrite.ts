/**
 * Appwrite: users as its API answers `GET /v1/users`, with their hashes: `password` has the form that `hash` names,
 * with the parameters of `hashOptions`. A hash other than argon2 was imported from another system and not used since.
 * https://appwrite.io/docs/references/cloud/server-rest/users; https://appwrite.io/docs/products/auth/migrations;
 * https://github.com/utopia-php/auth (src/Auth/Hashes)
 */
import { bytesOf, type HashText, scryptText, unsupported } from '../hashes.ts';
import type { Fields } from '../source.ts';
import { jsonAt, numberAt, textAt } from '../values.ts';
import { factorLostIf, JSON_ONLY, tableSource } from './table.ts';

export const appwrite = tableSource({
  name: 'appwrite',
  title: 'Appwrite',
  formats: JSON_ONLY,
  recognizes: ['$id', 'emailVerification', 'registration'],
  states: { active: ['status'] },
  columns: {
    userId: '$id',
    email: 'email',
    emailVerified: 'emailVerification',
    displayName: 'name',
    phone: 'phone',
    phoneVerified: 'phoneVerification',
  },
  parts: [hashOf, factorLostIf('mfa')],
  spread: ['prefs'],
  dropped: `$sequence $createdAt $updatedAt $permissions $databaseId $collectionId password hash hashOptions registration
    status passwordUpdate mfa targets accessedAt impersonator emailCanonical emailIsFree emailIsDisposable
    emailIsCorporate emailIsCanonical`,
});

const WHOLE = ['argon2', 'bcrypt', 'md5', 'phpass'];
const SHA = ['sha1', 'sha256', 'sha512'];
/** Firebase's cost in Appwrite's code. */
const FIREBASE = 'n=14,r=8,p=1';

function hashOf(record: Fields): HashText {
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
