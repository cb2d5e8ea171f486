/**
 * md5-crypt, Poul-Henning Kamp's crypt(3) from FreeBSD 2: `$1$salt$hash`, 1000 rounds, a salt of up to 8 bytes.
 * `$apr1$` of Apache's htpasswd is the same with another identifier (httpd.apache.org, "Password Formats").
 */
import { hash } from 'node:crypto';
import { defineScheme, joined, type Scheme, sameText } from '../scheme.ts';
import { encodeCrypt64, repeatTo, stretch } from './crypt3.ts';

const LONGEST_SALT = 8;
const FORM = /^[./0-9A-Za-z]{21}[./01]$/;
const ORDER = [12, 6, 0, 13, 7, 1, 14, 8, 2, 15, 9, 3, 5, 10, 4, 11];

function parse(body: string): { salt: string; digest: string } | string {
  const [salt, digest, ...more] = body.split('$');
  if (salt === undefined || digest === undefined || more.length > 0) return 'the fields are not salt and hash';
  if (Buffer.byteLength(salt) > LONGEST_SALT) return `the salt is longer than ${LONGEST_SALT} bytes`;
  if (!FORM.test(digest)) return 'the hash is cut off or not in the alphabet of crypt(3)';
  return { salt, digest };
}

function digestOf(identifier: string, password: Buffer, salt: Buffer): Buffer {
  const join = (...parts: Uint8Array[]) => hash('md5', Buffer.concat(parts), 'buffer');
  const b = join(password, salt, password);
  const bits: Buffer[] = [];
  for (let rest = password.length; rest > 0; rest >>= 1)
    bits.push(rest & 1 ? Buffer.alloc(1) : password.subarray(0, 1));
  const a = join(password, Buffer.from(identifier), salt, repeatTo(b, password.length), ...bits);
  return stretch('md5', a, { password, salt, rounds: 1000 });
}

function md5Crypt(name: string, identifier: string): Scheme {
  return defineScheme({
    name,
    matches: (encoded) => encoded.startsWith(identifier),
    parse: (encoded) => parse(encoded.slice(identifier.length)),
    verify: ({ salt, digest }, password) =>
      sameText(encodeCrypt64(digestOf(identifier, joined(password), Buffer.from(salt)), ORDER), digest),
  });
}

export const md5CryptScheme = md5Crypt('md5-crypt', '$1$');
export const apr1CryptScheme = md5Crypt('apr1-crypt', '$apr1$');
