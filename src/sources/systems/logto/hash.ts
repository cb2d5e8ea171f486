/**
 * Logto's hashes: `password_encrypted`, in the form that `password_encryption_method` names. Those of `Legacy` come
 * from other systems: `["sha256",["salt","@"],"hash"]`, in which `@` is the password.
 * https://docs.logto.io/user-management/user-migration;
 * https://github.com/logto-io/logto (packages/core/src/utils/password.ts)
 */
import { bytesOf, type HashText, pbkdf2Text, saltedDigest, unsupported } from '../../hash-text.ts';
import type { Fields } from '../../source.ts';
import { firstText, parseJson } from '../../values.ts';

const WHOLE = ['argon2i', 'argon2id', 'argon2d', 'bcrypt', 'md5', 'sha1', 'sha256'];
const DIGESTS = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'];

export function hashOf(record: Fields): HashText {
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
