/**
 * One MD5 of salt and password: in `$md5salted-prefix$salt$hash` the salt precedes the password, in `-suffix` it
 * follows.
 *
 * The salt is the literal text between the `$` signs; the hash is standard base64.
 */
import { hash } from 'node:crypto';
import { decodeBase64, defineScheme, joined, type Scheme, type Secret, sameBytes } from '../scheme.ts';

const DIGEST_BYTES = 16;

function parse(body: string): { salt: string; digest: Buffer } | string {
  const [salt, digestText, ...more] = body.split('$');
  if (salt === undefined || digestText === undefined || more.length > 0) return 'the fields are not salt and hash';
  const digest = decodeBase64(digestText);
  if (digest === undefined) return 'the hash is not base64';
  if (digest.length !== DIGEST_BYTES) return `the hash is not ${DIGEST_BYTES} bytes`;
  return { salt, digest };
}

function md5Salted(name: string, join: (salt: string, password: Secret) => Buffer): Scheme {
  const prefix = `$${name}$`;
  return defineScheme({
    name,
    matches: (encoded) => encoded.startsWith(prefix),
    parse: (encoded) => parse(encoded.slice(prefix.length)),
    verify: ({ salt, digest }, password) => sameBytes(hash('md5', join(salt, password), 'buffer'), digest),
  });
}

export const md5SaltedSchemes = [
  md5Salted('md5salted-prefix', (salt, password) => joined(salt, password)),
  md5Salted('md5salted-suffix', (salt, password) => joined(password, salt)),
];
