/**
 * bcrypt of a digest of the password: passlib's and Authgear's.
 *
 * passlib's `$bcrypt-sha256$v=2,t=2b,r=12$salt$hash`: bcrypt of base64(HMAC-SHA-256(password, key: the salt as text)).
 * Version 1, `$bcrypt-sha256$2a,12$salt$hash`, is bcrypt of base64(SHA-256(password)).
 * passlib.readthedocs.io, passlib.hash.bcrypt_sha256.
 *
 * Authgear's `$bcrypt-sha512$$2a$10$…`: bcrypt of the 64 bytes of SHA-512. Other programs take their base64, so a password
 * is tried as both.
 * github.com/authgear/authgear-server, pkg/util/password/bcrypt_sha512.go
 */
import { createHmac, hash } from 'node:crypto';
import { defineScheme } from '../scheme.ts';
import { bcryptScheme } from './bcrypt.ts';
import { wrappedScheme } from './wrapped.ts';

const PREFIX = '$bcrypt-sha256$';
const V1 = /^(2[aby]),(\d{1,2})$/;
const V2 = /^v=2,t=(2[aby]),r=(\d{1,2})$/;

interface Parts {
  bcrypt: string;
  /** Absent in version 1. */
  key: string | undefined;
}

function parse(encoded: string): Parts | string {
  const [parameters = '', salt, digest, ...more] = encoded.slice(PREFIX.length).split('$');
  const [, type, cost = ''] = V2.exec(parameters) ?? V1.exec(parameters) ?? [];
  if (type === undefined) return 'the parameters are not v=2,t=2b,r=…';
  if (salt === undefined || digest === undefined || more.length > 0) {
    return 'the fields are not parameters, salt and hash';
  }
  if (salt.length !== 22) return 'the salt does not have 22 characters';
  const bcrypt = `$${type}$${cost.padStart(2, '0')}$${salt}${digest}`;
  return bcryptScheme.check(bcrypt) ?? { bcrypt, key: parameters.startsWith('v=') ? salt : undefined };
}

export const bcryptSha256Scheme = defineScheme({
  name: 'bcrypt-sha256',
  matches: (encoded) => encoded.startsWith(PREFIX),
  parse,
  work: ({ bcrypt }) => bcryptScheme.work(bcrypt),
  verify({ bcrypt, key }, password) {
    const digest =
      key === undefined ? hash('sha256', password, 'buffer') : createHmac('sha256', key).update(password).digest();
    return bcryptScheme.verify(bcrypt, digest.toString('base64'));
  },
});

export const bcryptSha512Scheme = wrappedScheme({
  name: 'bcrypt-sha512',
  prefix: '$bcrypt-sha512$',
  inside: [bcryptScheme],
  expected: 'a bcrypt hash',
  readings: (password) => [hash('sha512', password, 'buffer'), hash('sha512', password, 'base64')],
  mostReadings: 2,
});
