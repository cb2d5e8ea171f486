/**
 * Kratos' password hashes, which resemble the Modular Crypt Format but often differ from it.
 *
 * https://www.ory.com/docs/kratos/manage-identities/import-user-accounts-identities#hashed-passwords
 * https://github.com/ory/kratos (hash/hash_comparator.go)
 */
import { bytesOf, type HashText, hmacText, pbkdf2Text, scryptText, unsupported } from '../../hash-text.ts';
import { saltedDigestOf } from './salted.ts';

const CRYPT: Readonly<Record<string, string>> = { 'md5-crypt': '1', 'sha256-crypt': '5', 'sha512-crypt': '6' };
const SALTED = ['md5', 'sha1', 'sha256', 'sha512'];
/** Unlike other programs, Kratos uses SHA-3 for these two. */
const SHA3: Readonly<Record<string, string>> = { sha224: 'sha3-224', sha384: 'sha3-384' };
const COST = /^ln=([0-9]+),r=([0-9]+),p=([0-9]+)$/;

/** @param text `hashed_password`; bcrypt, argon2 and `{SSHA}` are standard, and the service judges all other texts */
export function hashOf(text: string): HashText {
  const [before, scheme = '', ...fields] = text.split('$');
  if (before !== '') return { hash: text };
  if (Object.hasOwn(CRYPT, scheme)) return { hash: `$${CRYPT[scheme]}$${fields.join('$')}` };
  if (scheme === 'firescrypt') return firescrypt(fields);
  if (scheme === 'scrypt') return scrypt(fields);
  if (scheme.startsWith('pbkdf2-')) return pbkdf2(scheme.slice('pbkdf2-'.length), fields);
  if (scheme.startsWith('hmac-')) return hmac(scheme.slice('hmac-'.length), fields);
  return SALTED.includes(scheme) ? (saltedDigestOf(scheme, fields) ?? unsupported(scheme)) : { hash: text };
}

/** `i=<rounds>,l=<length>$salt$hash`; the length is that of the hash. */
function pbkdf2(algorithm: string, [parameters = '', saltText, digestText]: string[]): HashText {
  const rounds = /^i=([0-9]+),l=[0-9]+$/.exec(parameters)?.[1];
  const [salt, digest] = [bytesAt(saltText), bytesAt(digestText)];
  const name = SHA3[algorithm] ?? algorithm;
  const isKnown = ['sha1', 'sha256', 'sha512', ...Object.values(SHA3)].includes(name);
  if (!isKnown || rounds === undefined || !salt || !digest) return unsupported(`pbkdf2-${name}`);
  return { hash: pbkdf2Text(name, Number(rounds), salt, digest) };
}

/** `ln=<N>,r=8,p=1$salt$hash`: despite its name, `ln` is N itself; other programs write its logarithm. */
function scrypt([parameters = '', saltText, digestText]: string[]): HashText {
  const [, n, r, p] = COST.exec(parameters) ?? [];
  const [salt, digest] = [bytesAt(saltText), bytesAt(digestText)];
  const ln = Math.log2(Number(n));
  if (!Number.isInteger(ln) || !salt || !digest) return unsupported('scrypt');
  return { hash: scryptText({ ln, r: Number(r), p: Number(p) }, salt, digest) };
}

/** `ln=14,r=8,p=1$salt$hash$separator$signer key`: here `ln` is the logarithm. */
function firescrypt([parameters = '', salt, digest, separator, signerKey]: string[]): HashText {
  const [, n, r, p] = COST.exec(parameters) ?? [];
  if (n === undefined || signerKey === undefined) return unsupported('firescrypt');
  return { hash: `$fbscrypt$v=1,n=${n},r=${r},p=${p},ss=${separator},sk=${signerKey}$${salt}$${digest}` };
}

/** `hash$key`; the hash is base64 of the hexadecimal digest. */
function hmac(algorithm: string, [digestText, keyText]: string[]): HashText {
  const [key, digest] = [bytesAt(keyText), bytesOf(bytesAt(digestText)?.toString('latin1') ?? '-', 'hex')];
  // MD4 (RFC 1320) is obsolete and not supported.
  if (algorithm === 'md4' || !key || !digest) return unsupported(`hmac-${algorithm}`);
  return { hash: hmacText(algorithm, key, digest) };
}

function bytesAt(field: string | undefined): Buffer | undefined {
  return field === undefined ? undefined : bytesOf(field, 'base64');
}
