/** An HMAC (RFC 2104) of the password: `$hmac-sha256$key$hash`. Key and hash are standard base64, padded or not. */
import { createHmac } from 'node:crypto';
import { DIGESTS, decodeBase64, defineScheme, type Scheme, sameBytes } from '../scheme.ts';

function parse(body: string, length: number): { key: Buffer; digest: Buffer } | string {
  const [keyText, digestText, ...more] = body.split('$');
  if (keyText === undefined || digestText === undefined || more.length > 0) return 'the fields are not key and hash';
  const key = decodeBase64(keyText);
  if (key === undefined) return 'the key is not base64';
  if (key.length === 0) return 'the key is missing';
  const digest = decodeBase64(digestText);
  if (digest === undefined) return 'the hash is not base64';
  return digest.length === length ? { key, digest } : `the hash is not ${length} bytes`;
}

function hmac(algorithm: string, length: number): Scheme {
  const name = `hmac-${algorithm}`;
  const prefix = `$${name}$`;
  return defineScheme({
    name,
    matches: (encoded) => encoded.startsWith(prefix),
    parse: (encoded) => parse(encoded.slice(prefix.length), length),
    verify: ({ key, digest }, password) => sameBytes(createHmac(algorithm, key).update(password).digest(), digest),
  });
}

export const hmacSchemes = DIGESTS.map(({ algorithm, length }) => hmac(algorithm, length));
