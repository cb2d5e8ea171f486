/**
 * Clerk's hashes: `password_digest`, in the form that `password_hasher` names. Clerk keeps hashes from other systems
 * until the user's next login, so one export holds several forms.
 *
 * https://clerk.com/docs/reference/backend/user/create-user (`passwordHasher`)
 */
import { bytesOf, type HashText, pbkdf2Text, saltedDigest, unsupported } from '../../hash-text.ts';
import type { Note } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { textAt } from '../../values.ts';

const SALT_ORDER: Note = {
  id: 'CLERK-SALT-ORDER',
  message: 'Clerk does not document whether this salt precedes or follows the password; it is taken to precede it.',
};
const IN_COGNITO: Note = {
  id: 'CLERK-PASSWORD-IN-COGNITO',
  message: 'The password was never moved from Amazon Cognito to Clerk; the user must set a new one here.',
};

/** Hashers whose digest is a complete text, by the beginning that it must have. */
const AS_THEY_ARE: Readonly<Record<string, string>> = {
  bcrypt: '$2',
  argon2i: '$argon2i$',
  argon2id: '$argon2id$',
  phpass: '$P$',
  pbkdf2_sha256_django: 'pbkdf2_sha256$',
  bcrypt_sha256_django: 'bcrypt_sha256$',
  ldap_ssha: '{SSHA}',
  sha512_symfony: 'sha512_symfony$',
};

/** Hashers whose digest must be rewritten; undefined when the digest does not have the expected form. */
const REWRITTEN: Readonly<Record<string, (digest: string) => HashText | undefined>> = {
  awscognito: () => ({ notes: [IN_COGNITO] }),
  md5: (digest) => (/^[0-9a-f]{32}$/i.test(digest) ? { hash: digest } : undefined),
  md5_salted: (digest) => salted('md5', digest),
  sha256: (digest) => bare('sha256', digest),
  sha256_salted: (digest) => salted('sha256', digest),
  // Salt and hash are base64; in Django's text of the same prefix, the salt is plain text.
  pbkdf2_sha256: (digest) => pbkdf2('sha256', digest, (salt) => bytesOf(salt, 'base64'), 'base64'),
  pbkdf2_sha512: (digest) => pbkdf2('sha512', digest, (salt) => Buffer.from(salt), 'hex'),
  pbkdf2_sha512_hex: (digest) => pbkdf2('sha512', digest, (salt) => bytesOf(salt, 'hex'), 'hex'),
  pbkdf2_sha1: pbkdf2Sha1,
  scrypt_firebase: firebase,
  scrypt_werkzeug: werkzeug,
};

export function clerkHash(record: Fields): HashText {
  const digest = textAt(record, 'password_digest');
  if (digest === undefined) return {};
  const hasher = textAt(record, 'password_hasher')?.toLowerCase() ?? (digest.startsWith('$2') ? 'bcrypt' : 'unknown');
  if (Object.hasOwn(AS_THEY_ARE, hasher)) {
    return digest.startsWith(AS_THEY_ARE[hasher] as string) ? { hash: digest } : unsupported(hasher);
  }
  const rewrite = Object.hasOwn(REWRITTEN, hasher) ? REWRITTEN[hasher] : undefined;
  return rewrite?.(digest) ?? unsupported(hasher);
}

const NO_SALT = Buffer.alloc(0);

function bare(algorithm: string, digest: string): HashText | undefined {
  const bytes = bytesOf(digest, 'hex');
  return bytes && { hash: saltedDigest(algorithm, 'prefix', NO_SALT, bytes) };
}

/** `salt$hash`; a salt may contain `$`. */
function salted(algorithm: string, digest: string): HashText | undefined {
  const [, salt, hex] = /^(.*)\$([0-9a-f]+)$/is.exec(digest) ?? [];
  const bytes = hex === undefined ? undefined : bytesOf(hex, 'hex');
  if (salt === undefined || !bytes) return undefined;
  return { hash: saltedDigest(algorithm, 'prefix', Buffer.from(salt), bytes), notes: [SALT_ORDER] };
}

type SaltReader = (salt: string) => Buffer | undefined;

/** `pbkdf2_…$rounds$salt$hash` */
function pbkdf2(
  algorithm: string,
  digest: string,
  saltOf: SaltReader,
  encoding: 'hex' | 'base64',
): HashText | undefined {
  const [, rounds, saltText, hashText] = /^pbkdf2_[a-z0-9_]+\$(\d+)\$(.*)\$([^$]+)$/s.exec(digest) ?? [];
  const salt = saltText === undefined ? undefined : saltOf(saltText);
  const bytes = hashText === undefined ? undefined : bytesOf(hashText, encoding);
  return salt && bytes && { hash: pbkdf2Text(algorithm, Number(rounds), salt, bytes) };
}

/** May end with the length of the key; the salt is hex, or else plain text. */
function pbkdf2Sha1(digest: string): HashText | undefined {
  const [, rest, length] = /^(pbkdf2_sha1\$\d+\$[^$]+\$[0-9a-f]+)(?:\$(\d+))?$/i.exec(digest) ?? [];
  if (rest === undefined) return undefined;
  const isWhole = length === undefined || Number(length) * 2 === rest.length - rest.lastIndexOf('$') - 1;
  return isWhole ? pbkdf2('sha1', rest, (salt) => bytesOf(salt, 'hex') ?? Buffer.from(salt), 'hex') : undefined;
}

/** `hash$salt$signer key$salt separator$rounds$memory cost` in base64; older exports of Firebase use base64url. */
function firebase(digest: string): HashText | undefined {
  const parts = digest.replaceAll('-', '+').replaceAll('_', '/').split('$');
  const [hash, salt, key, separator, rounds = '', memory = ''] = parts;
  if (parts.length !== 6 || !/^\d+$/.test(rounds) || !/^\d+$/.test(memory)) return undefined;
  return { hash: `$fbscrypt$v=1,n=${memory},r=${rounds},p=1,ss=${separator},sk=${key}$${salt}$${hash}` };
}

/** Werkzeug's own text, or Clerk's with a leading `$`; the hash is hex, or base64 as in Clerk's documentation. */
function werkzeug(digest: string): HashText | undefined {
  const [, method, salt, text] = /^\$?([a-z0-9]+(?::[a-z0-9]+)+)\$([^$]+)\$([^$]+)$/.exec(digest) ?? [];
  if (method === undefined || text === undefined) return undefined;
  const bytes = bytesOf(text, 'hex') ?? bytesOf(text, 'base64');
  return bytes && { hash: `${method}$${salt}$${bytes.toString('hex')}` };
}
