/**
 * Appwrite's hashes: `password`, in the form that `hash` names, with `hashOptions`. Those other than argon2 were
 * imported from other systems and not used since.
 * https://appwrite.io/docs/products/auth/security (password hashing);
 * https://github.com/utopia-php/auth (src/Auth/Hashes)
 */
import { bytesOf, type HashText, scryptText, unsupported } from '../../hash-text.ts';
import type { Fields } from '../../source.ts';
import { jsonAt, numberAt, textAt } from '../../values.ts';

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
