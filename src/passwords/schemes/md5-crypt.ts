/** md5-crypt, Poul-Henning Kamp's crypt(3) from FreeBSD 2: `$1$salt$hash`, 1000 rounds, a salt of up to 8 bytes. */
import { hash } from 'node:crypto';
import { defineScheme, sameText } from '../scheme.ts';
import { encodeCrypt64, repeatTo, stretch } from './crypt3.ts';

const PREFIX = '$1$';
const LONGEST_SALT = 8;
const FORM = /^[./0-9A-Za-z]{21}[./01]$/;
const ORDER = [12, 6, 0, 13, 7, 1, 14, 8, 2, 15, 9, 3, 5, 10, 4, 11];

function parse(encoded: string): { salt: string; digest: string } | string {
  const [salt, digest, ...more] = encoded.slice(PREFIX.length).split('$');
  if (salt === undefined || digest === undefined || more.length > 0) return 'the fields are not salt and hash';
  if (Buffer.byteLength(salt) > LONGEST_SALT) return `the salt is longer than ${LONGEST_SALT} bytes`;
  if (!FORM.test(digest)) return 'the hash is cut off or not in the alphabet of crypt(3)';
  return { salt, digest };
}

function digestOf(password: Buffer, salt: Buffer): Buffer {
  const join = (...parts: Uint8Array[]) => hash('md5', Buffer.concat(parts), 'buffer');
  const b = join(password, salt, password);
  const bits: Buffer[] = [];
  for (let rest = password.length; rest > 0; rest >>= 1)
    bits.push(rest & 1 ? Buffer.alloc(1) : password.subarray(0, 1));
  const a = join(password, Buffer.from(PREFIX), salt, repeatTo(b, password.length), ...bits);
  return stretch('md5', a, { password, salt, rounds: 1000 });
}

export const md5CryptScheme = defineScheme({
  name: 'md5-crypt',
  matches: (encoded) => encoded.startsWith(PREFIX),
  parse,
  verify: ({ salt, digest }, password) =>
    sameText(encodeCrypt64(digestOf(Buffer.from(password), Buffer.from(salt)), ORDER), digest),
});
