/**
 * scrypt as better-auth and Lucia write it: `salt:key` in hexadecimal digits, N 16384, p 1, a key of 64 bytes. The salt
 * is used as text; the password is in Unicode's form NFKC. r is 16, or 8 in Lucia 1, whose salts have 16 letters and
 * digits. Lucia 2 writes `s2:salt:key`, with r 16.
 * github.com/better-auth/utils, src/password.ts; github.com/lucia-auth/lucia/tree/v3, packages/lucia/src/crypto.ts
 */
import { defineScheme, type Scheme, sameBytes } from '../scheme.ts';
import { scryptWork } from '../work.ts';
import { deriveScrypt } from './scrypt.ts';

/** @param claim how such a hash begins @param form of the whole hash, with its salt and key */
function scryptColon(name: string, claim: RegExp, form: RegExp, r: number): Scheme {
  const cost = { ln: 14, r, p: 1 };
  return defineScheme({
    name,
    matches: (encoded) => claim.test(encoded),
    parse(encoded) {
      const [, salt, key = ''] = form.exec(encoded) ?? [];
      if (salt === undefined) return 'the fields are not salt and 128 hexadecimal digits of hash';
      return { salt: Buffer.from(salt), digest: Buffer.from(key, 'hex') };
    },
    work: () => scryptWork(cost),
    verify: ({ salt, digest }, password) =>
      sameBytes(
        deriveScrypt(typeof password === 'string' ? password.normalize('NFKC') : password, salt, cost, digest.length),
        digest,
      ),
  });
}

const BETTER_AUTH = /^([0-9a-f]{32}):([0-9a-f]{128})$/i;
const LUCIA_2 = /^s2:([0-9A-Za-z]{1,64}):([0-9a-f]{128})$/i;
const LUCIA_1 = /^([0-9a-z]{16}):([0-9a-f]{128})$/i;

export const scryptColonSchemes = [
  scryptColon('better-auth scrypt', BETTER_AUTH, BETTER_AUTH, 16),
  scryptColon('lucia scrypt', /^s2:/, LUCIA_2, 16),
  scryptColon('lucia 1 scrypt', LUCIA_1, LUCIA_1, 8),
];
