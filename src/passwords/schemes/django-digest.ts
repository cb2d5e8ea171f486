/**
 * One digest of salt and password in hexadecimal digits: `md5$salt$hash` and `sha1$salt$hash` of old Django versions.
 * The salt is the literal text and may be empty.
 *
 * werkzeug before 3.0 wrote the same form, but hashed with an HMAC whose key is the salt. The two cannot be told apart,
 * so a password is correct if it matches in either way.
 */
import { createHmac, hash } from 'node:crypto';
import { decodeHex, defineScheme, joined, type Scheme, sameBytes } from '../scheme.ts';

function digest(algorithm: string, length: number): Scheme {
  function parse(encoded: string): { salt: string; digest: Buffer } | string {
    const [, salt, digestText, ...more] = encoded.split('$');
    if (salt === undefined || digestText === undefined || more.length > 0) return 'the fields are not salt and hash';
    const bytes = decodeHex(digestText);
    if (bytes === undefined) return 'the hash is not hexadecimal';
    return bytes.length === length ? { salt, digest: bytes } : `the hash is not ${length} bytes`;
  }
  return defineScheme({
    name: `django ${algorithm}`,
    matches: (encoded) => encoded.startsWith(`${algorithm}$`),
    parse,
    verify({ salt, digest }, password) {
      const ofDjango = hash(algorithm, joined(salt, password), 'buffer');
      const ofWerkzeug = createHmac(algorithm, salt).update(password).digest();
      return sameBytes(ofDjango, digest) || sameBytes(ofWerkzeug, digest);
    },
  });
}

export const djangoDigestSchemes = [digest('sha1', 20), digest('md5', 16)];
