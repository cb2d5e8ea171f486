/**
 * Hashes as Clerk keeps them: `password_digest`, in the form that `password_hasher` stands for. Clerk stores what other
 * systems made until the user's next login, so one export holds several forms.
 *
 * https://clerk.com/docs/reference/backend/user/create-user (`passwordHasher`)
 */
import { bytesOf, type HashText, pbkdf2Text, saltedDigest, unsupported } from '../../hash-text.ts';
import type { Note } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { textAt } from '../../values.ts';

const SALT_ORDER: Note = {
  id: 'CLERK-SALT-ORDER',
  message: 'Clerk does not document on which side of the password this salt stands; it is taken to stand before it.',
};
const IN_COGNITO: Note = {
  id: 'CLERK-PASSWORD-IN-COGNITO',
  message: 'The password was never moved from Amazon Cognito to Clerk; the user has to set one here.',
};

/** Hashers whose digest is a text that stands for itself; it must begin so. */
const AS_THEY_ARE: Readonly<Record<string, string>> = {
  bcrypt: '$2',
  argon2i: '$argon2i$',
  argon2id: '$argon2id$',
  phpass: '$P$',
  pbkdf2_sha256_django: 'pbkdf2_sha256$',
  bcrypt_sha256_django: 'bcrypt_sha256$',
  ldap_ssha: '{SSHA}',
};

/** Hashers whose digest has to be written anew; none when it is not of the form that it should have. */
const REWRITTEN: Readonly<Record<string, (digest: string) => HashText | undefined>> = {
  awscognito: () => ({ notes: [IN_COGNITO] }),
  md5: (digest) => (/^[0-9a-f]{32}$/i.test(digest) ? { hash: digest } : undefined),
  md5_salted: (digest) => salted('md5', digest),
  sha256: (digest) => bare('sha256', digest),
  sha256_salted: (digest) => salted('sha256', digest),
  sha512_symfony: symfony,
  // Base64 on both sides, while Django's text of the same beginning has the salt as it is.
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

/** `salt$hash`; a salt may hold `$`. */
function salted(algorithm: string, digest: string): HashText | undefined {
  const [, salt, hex] = /^(.*)\$([0-9a-f]+)$/is.exec(digest) ?? [];
  const bytes = hex === undefined ? undefined : bytesOf(hex, 'hex');
  if (salt === undefined || !bytes) return undefined;
  return { hash: saltedDigest(algorithm, 'prefix', Buffer.from(salt), bytes), notes: [SALT_ORDER] };
}

/** The password with `{salt}` behind it. Further rounds mix it in again, which no text of ours can say. */
function symfony(digest: string): HashText | undefined {
  const [, iterations, salt, text] = /^sha512_symfony\$(\d+)\$(.*)\$([^$]+)$/s.exec(digest) ?? [];
  const bytes = text === undefined ? undefined : bytesOf(text, 'base64');
  if (iterations !== '1' || salt === undefined || !bytes) return undefined;
  return { hash: saltedDigest('sha512', 'suffix', salt === '' ? NO_SALT : Buffer.from(`{${salt}}`), bytes) };
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

/** May end in the length of the key; the salt is hex, or else the text itself. */
function pbkdf2Sha1(digest: string): HashText | undefined {
  const [, rest, length] = /^(pbkdf2_sha1\$\d+\$[^$]+\$[0-9a-f]+)(?:\$(\d+))?$/i.exec(digest) ?? [];
  if (rest === undefined) return undefined;
  const isWhole = length === undefined || Number(length) * 2 === rest.length - rest.lastIndexOf('$') - 1;
  return isWhole ? pbkdf2('sha1', rest, (salt) => bytesOf(salt, 'hex') ?? Buffer.from(salt), 'hex') : undefined;
}

/** `hash$salt$signer key$salt separator$rounds$memory cost`, base64, in older exports of Firebase with URLs' alphabet. */
function firebase(digest: string): HashText | undefined {
  const parts = digest.replaceAll('-', '+').replaceAll('_', '/').split('$');
  const [hash, salt, key, separator, rounds = '', memory = ''] = parts;
  if (parts.length !== 6 || !/^\d+$/.test(rounds) || !/^\d+$/.test(memory)) return undefined;
  return { hash: `$fbscrypt$v=1,n=${memory},r=${rounds},p=1,ss=${separator},sk=${key}$${salt}$${hash}` };
}

/** Werkzeug's own text, in Clerk's form with `$` before it; the hash hex, or base64 as Clerk's documentation has it. */
function werkzeug(digest: string): HashText | undefined {
  const [, method, salt, text] = /^\$?([a-z0-9]+(?::[a-z0-9]+)+)\$([^$]+)\$([^$]+)$/.exec(digest) ?? [];
  if (method === undefined || text === undefined) return undefined;
  const bytes = bytesOf(text, 'hex') ?? bytesOf(text, 'base64');
  return bytes && { hash: `${method}$${salt}$${bytes.toString('hex')}` };
}
