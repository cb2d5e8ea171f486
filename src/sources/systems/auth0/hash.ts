/**
 * Password hashes of Auth0's users: bcrypt, from its support's file and in `password_hash`, and the hashes of other
 * systems in `custom_password_hash`, the format of its bulk import.
 *
 * https://auth0.com/docs/manage-users/user-migration/bulk-user-import-schema#custom-password-hash
 */
import {
  bytesOf,
  type Encoding,
  type HashText,
  hmacText,
  pbkdf2Text,
  saltedDigest,
  scryptText,
  unsupported,
} from '../../hash-text.ts';
import type { Note } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { numberAt, objectAt, textAt } from '../../values.ts';

const PASSWORD_ENCODING: Note = {
  id: 'AUTH0-PASSWORD-ENCODING',
  message: 'The hashed password was not encoded as UTF-8; a password with characters beyond ASCII will not verify.',
};

export function auth0Hash(user: Fields): HashText {
  const hash = textAt(user, 'passwordHash') ?? textAt(user, 'password_hash');
  if (hash !== undefined) return { hash };
  const custom = objectAt(user, 'custom_password_hash');
  const algorithm = textAt(custom, 'algorithm')?.toLowerCase();
  if (algorithm === undefined) return {};
  const encoding = textAt(objectAt(custom, 'password'), 'encoding')?.toLowerCase() ?? 'utf8';
  if (encoding === 'utf16le' || encoding === 'ucs2') return unsupported(`${algorithm}-utf16`);
  const made = customHash(algorithm, custom);
  return encoding === 'utf8' ? made : { ...made, notes: [...(made.notes ?? []), PASSWORD_ENCODING] };
}

function customHash(algorithm: string, custom: Fields): HashText {
  const value = textAt(objectAt(custom, 'hash'), 'value');
  if (value === undefined) return unsupported(algorithm);
  const isSalted = saltOf(custom)?.length !== 0;
  switch (algorithm) {
    case 'bcrypt':
      return isSalted ? unsupported('bcrypt-salted') : { hash: value };
    case 'argon2':
    case 'ldap':
      return { hash: value };
    case 'pbkdf2':
      return pbkdf2(value);
    case 'hmac':
      return hmac(custom, value);
    case 'scrypt':
      return scrypt(custom, value);
    case 'md5':
    case 'sha1':
    case 'sha256':
    case 'sha512':
      return digest(algorithm, custom, value);
    default:
      return unsupported(algorithm);
  }
}

/** The bytes of a part that names its own encoding. */
function partOf(part: Fields, otherwise: Encoding): Buffer | undefined {
  const encoding = textAt(part, 'encoding')?.toLowerCase() ?? otherwise;
  const isKnown = encoding === 'hex' || encoding === 'base64' || encoding === 'utf8';
  // Not trimmed: spaces are part of a salt.
  return isKnown && typeof part.value === 'string' ? bytesOf(part.value, encoding) : undefined;
}

function saltOf(custom: Fields): Buffer | undefined {
  const salt = objectAt(custom, 'salt');
  return Object.hasOwn(salt, 'value') ? partOf(salt, 'utf8') : Buffer.alloc(0);
}

/** The documentation requires an encoding for these hashes; if it is missing, a text of hex digits counts as hex. */
function digestOf(custom: Fields, value: string): Buffer | undefined {
  return partOf(objectAt(custom, 'hash'), /^[0-9a-f]+$/i.test(value) ? 'hex' : 'base64');
}

function digest(algorithm: string, custom: Fields, value: string): HashText {
  const bytes = digestOf(custom, value);
  const salt = saltOf(custom);
  if (!bytes || !salt) return unsupported(algorithm);
  const order = textAt(objectAt(custom, 'salt'), 'position') === 'suffix' ? 'suffix' : 'prefix';
  return { hash: saltedDigest(algorithm, order, salt, bytes) };
}

const HMAC_DIGESTS = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'];

function hmac(custom: Fields, value: string): HashText {
  const hash = objectAt(custom, 'hash');
  const algorithm = textAt(hash, 'digest')?.toLowerCase() ?? '';
  const bytes = digestOf(custom, value);
  const key = partOf(objectAt(hash, 'key'), 'utf8');
  const isSalted = saltOf(custom)?.length !== 0;
  if (isSalted) return unsupported('hmac-salted');
  if (!HMAC_DIGESTS.includes(algorithm) || !bytes || !key) return unsupported(`hmac-${algorithm}`);
  return { hash: hmacText(algorithm, key, bytes) };
}

function scrypt(custom: Fields, value: string): HashText {
  const bytes = digestOf(custom, value);
  const salt = saltOf(custom);
  const ln = Math.log2(numberAt(custom, 'cost') ?? 16384);
  if (!bytes || !salt || !Number.isInteger(ln)) return unsupported('scrypt');
  const cost = { ln, r: numberAt(custom, 'blockSize') ?? 8, p: numberAt(custom, 'parallelization') ?? 1 };
  return { hash: scryptText(cost, salt, bytes) };
}

/** `$pbkdf2-sha512$i=100000,l=64$salt$hash` (PHC); without `i`, the documentation's 100000. */
const PHC = /^\$pbkdf2-([A-Za-z0-9-]+)\$(?:([a-z]=\d+(?:,[a-z]=\d+)*)\$)?([^$]+)\$([^$]+)$/;
/** `RSA-SHA512` and `sha512WithRSAEncryption` are OpenSSL's other names for sha512. */
const SHA = /^(?:rsa-)?(sha1|sha224|sha256|sha384|sha512)(?:-2|withrsaencryption|withrsa)?$/;

function pbkdf2(value: string): HashText {
  const [, name = '', parameters = '', saltText = '', digestText = ''] = PHC.exec(value) ?? [];
  const algorithm = SHA.exec(name.toLowerCase())?.[1];
  const salt = bytesOf(saltText, 'base64');
  const bytes = bytesOf(digestText, 'base64');
  if (algorithm === undefined || !salt || !bytes) return unsupported(name === '' ? 'pbkdf2' : `pbkdf2-${name}`);
  const rounds = /(?:^|,)i=(\d+)/.exec(parameters)?.[1] ?? '100000';
  return { hash: pbkdf2Text(algorithm, Number(rounds), salt, bytes) };
}
