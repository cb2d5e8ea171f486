/**
 * The traditional crypt(3) of Unix: two characters of salt, 11 of hash. 25 DES encryptions of zeros, with the first 8
 * bytes of the password, seven bits of each, as the key. passlib.readthedocs.io, passlib.hash.des_crypt.
 *
 * `bsdi_crypt` of BSDi, `_`, four characters of rounds, four of salt, 11 of hash, uses all bytes of the password: each
 * further group of eight is mixed into the key. passlib.readthedocs.io, passlib.hash.bsdi_crypt.
 */
import { defineScheme, numberProblem, sameText } from '../../scheme.ts';
import { desWork } from '../../work.ts';
import { ALPHABET } from '../crypt/crypt3.ts';
import { encrypt, keySchedule } from './des.ts';

const TRADITIONAL_ROUNDS = 25;
const MOST_ROUNDS = 2 ** 24 - 1;
/** The last character stands for four bits: checking it finds damaged hashes, and texts that are none. */
const HASH = '[./0-9A-Za-z]{10}[.26AEIMQUYcgkosw]';
const DES = new RegExp(`^[./0-9A-Za-z]{2}${HASH}$`);
const BSDI = new RegExp(`^_[./0-9A-Za-z]{8}${HASH}$`);

/** The key bytes from the next eight bytes of a password: seven bits of each, above a parity bit. */
function keyBytes(password: Buffer, from: number): Buffer {
  const key = Buffer.alloc(8);
  for (let i = 0; i < 8; i++) key[i] = ((password[from + i] ?? 0) << 1) & 0xff;
  return key;
}

/** The lowest six bits first. */
function numberOf(digits: string): number {
  return [...digits].reduce((sum, digit, i) => sum | (ALPHABET.indexOf(digit) << (6 * i)), 0);
}

/** 64 bits and two zeros as 11 characters, the highest bits first. */
function encode(block: Buffer): string {
  const bits = (block.readBigUInt64BE() << 2n).toString(8).padStart(22, '0');
  return (bits.match(/../g) ?? []).map((pair) => ALPHABET[Number.parseInt(pair, 8)]).join('');
}

function hashOf(key: Buffer, salt: number, times: number): string {
  return encode(encrypt(Buffer.alloc(8), keySchedule(key), { salt, times }));
}

/** crypt(3) ignores the highest bit of each byte, so other letters than ASCII may be mistyped. */
const isAscii = (password: string) => /^[\0-\x7f]*$/.test(password);

const desCrypt = defineScheme({
  name: 'des-crypt',
  matches: (encoded) => encoded.length === 13 && DES.test(encoded),
  parse: (encoded) => ({ salt: encoded.slice(0, 2), digest: encoded.slice(2) }),
  seesAll: (password) => password.length <= 8 && isAscii(password),
  verify: ({ salt, digest }, password) =>
    sameText(hashOf(keyBytes(Buffer.from(password), 0), numberOf(salt), TRADITIONAL_ROUNDS), digest),
});

const bsdiCrypt = defineScheme({
  name: 'bsdi-crypt',
  matches: (encoded) => encoded.startsWith('_') && encoded.length === 20,
  parse(encoded) {
    if (!BSDI.test(encoded)) return 'rounds, salt and hash are not in the alphabet of crypt(3)';
    const rounds = numberOf(encoded.slice(1, 5));
    const problem = numberProblem('rounds', rounds, 1, MOST_ROUNDS);
    return problem ?? { rounds, salt: numberOf(encoded.slice(5, 9)), digest: encoded.slice(9) };
  },
  seesAll: isAscii,
  work: ({ rounds }) => desWork(rounds),
  verify({ rounds, salt, digest }, password) {
    const bytes = Buffer.from(password);
    let key = keyBytes(bytes, 0);
    for (let from = 8; from < bytes.length; from += 8) {
      const mixed = encrypt(key, keySchedule(key));
      key = keyBytes(bytes, from).map((byte, i) => byte ^ (mixed[i] ?? 0)) as Buffer;
    }
    return sameText(hashOf(key, salt, rounds), digest);
  },
});

export const desSchemes = [desCrypt, bsdiCrypt];
