/**
 * The plain MD5 of a password: 32 hexadecimal digits in either case. It has no identifier and is recognized by its
 * form.
 */
import { hash } from 'node:crypto';
import { defineScheme, sameBytes } from '../scheme.ts';

export const md5PlainScheme = defineScheme({
  name: 'md5-plain',
  matches: (encoded) => /^[0-9A-Fa-f]{32}$/.test(encoded),
  parse: (encoded) => ({ digest: Buffer.from(encoded, 'hex') }),
  verify: ({ digest }, password) => sameBytes(hash('md5', password, 'buffer'), digest),
});
