/**
 * The traditional crypt(3) of Unix: two characters of salt, 11 of hash. 25 DES encryptions of zeros, with the first 8
 * bytes of the password, seven bits of each, as the key. passlib.readthedocs.io, passlib.hash.des_crypt.
 *
 * `bsdi_crypt` of BSDi, `_`, four characters of rounds, four of salt, 11 of hash, uses all bytes of the password: each
 * further group of eight is mixed into the key. passlib.readthedocs.io, passlib.hash.bsdi_crypt.
 *
 * DES (FIPS 46-3) is computed here, with the salt of crypt(3), which swaps bits of the expansion E. Only for old
 * hashes: DES is broken as a cipher. Bits are numbered from 1, the most significant one first, as in the standard.
 */
import { defineScheme, joined, numberProblem, sameText } from '../scheme.ts';
import { desWork } from '../work.ts';
import { ALPHABET } from './crypt3.ts';

const TRADITIONAL_ROUNDS = 25;
const MOST_ROUNDS = 2 ** 24 - 1;
/** The last character stands for four bits: checking it finds damaged hashes, and texts that are none. */
const HASH = '[./0-9A-Za-z]{10}[.26AEIMQUYcgkosw]';
const DES = new RegExp(`^[./0-9A-Za-z]{2}${HASH}$`);
const BSDI = new RegExp(`^_[./0-9A-Za-z]{8}${HASH}$`);

const P = [
  16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25,
];
const PC1 = [
  57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36, 63, 55,
  47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4,
];
const PC2 = [
  14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, 41, 52, 31, 37, 47, 55, 30,
  40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];
const SHIFTS = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];
/** S1 to S8: four rows of 16 hexadecimal digits each. */
const S = [
  'E4D12FB83A6C59070F74E2D1A6CB953841E8D62BFC973A50FC8249175B3EA06D',
  'F18E6B34972DC05A3D47F28EC01A69B50E7BA4D158C6932FD8A13F42B67C05E9',
  'A09E63F51DC7B428D709346A285ECBF1D6498F30B12C5AE71AD069874FE3B52C',
  '7DE3069A1285BC4FD8B56F03472C1AE9A690CB7DF13E52843F06A1D8945BC72E',
  '2C417AB6853FD0E9EB2C47D150FA3986421BAD78F9C5630EB8C71E2D6F09A453',
  'C1AF92680D34E75BAF427C9561DE0B389EF528C3704A1DB6432C95FABE17608D',
  '4B2EF08D3C975A61D0B7491AE35C2F8614BDC37EAF6805926BD814A7950FE23C',
  'D2846FB1A93E50C71FD8A374C56B0E927B419CE206ADF35821E74A8DFC90356B',
];

/** What six bits of the expanded half become: an S-box, then P. Indexed by box · 64 + bits. */
const SP = Int32Array.from({ length: 512 }, (_, at) => {
  const [box, bits] = [at >> 6, at & 63];
  const row = ((bits >> 4) & 2) | (bits & 1);
  const value = Number.parseInt(S[box]?.charAt(row * 16 + ((bits >> 1) & 15)) ?? '', 16);
  const placed = value << (28 - 4 * box);
  return P.reduce((word, from, to) => word | (((placed >>> (32 - from)) & 1) << (31 - to)), 0);
});

const desCrypt = defineScheme({
  name: 'des-crypt',
  matches: (encoded) => encoded.length === 13 && DES.test(encoded),
  parse: (encoded) => ({ salt: encoded.slice(0, 2), digest: encoded.slice(2) }),
  seesAll: (password) => password.length <= 8 && isAscii(password),
  verify: ({ salt, digest }, password) =>
    sameText(hashOf(keyBytes(joined(password), 0), numberOf(salt), TRADITIONAL_ROUNDS), digest),
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
    const bytes = joined(password);
    let key = keyBytes(bytes, 0);
    for (let from = 8; from < bytes.length; from += 8) {
      const mixed = encrypt(key, keySchedule(key));
      key = keyBytes(bytes, from).map((byte, i) => byte ^ (mixed[i] ?? 0)) as Buffer;
    }
    return sameText(hashOf(key, salt, rounds), digest);
  },
});

export const desSchemes = [desCrypt, bsdiCrypt];

/** The key bytes from the next eight bytes of a password: seven bits of each, above a parity bit. */
function keyBytes(password: Buffer, from: number): Buffer {
  const key = Buffer.alloc(8);
  for (let i = 0; i < 8; i++) key[i] = ((password[from + i] ?? 0) << 1) & 0xff;
  return key;
}

/** The number that the digits of crypt(3) stand for, the lowest six bits first. */
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
function isAscii(password: string): boolean {
  return /^[\0-\x7f]*$/.test(password);
}

/** Sixteen keys of 48 bits, each as two numbers of 24. */
type KeySchedule = Int32Array;

/** @param key 8 bytes, whose lowest bits are ignored */
function keySchedule(key: Uint8Array): KeySchedule {
  const bits = PC1.map((from) => ((key[(from - 1) >> 3] ?? 0) >> (7 - ((from - 1) & 7))) & 1);
  const keys = new Int32Array(32);
  let shift = 0;
  for (const [round, by] of SHIFTS.entries()) {
    shift += by;
    for (const [to, from] of PC2.entries()) {
      const half = from > 28 ? 28 : 0;
      const bit = bits[half + ((from - 1 - half + shift) % 28)] ?? 0;
      keys[2 * round + (to < 24 ? 0 : 1)] = ((keys[2 * round + (to < 24 ? 0 : 1)] ?? 0) << 1) | bit;
    }
  }
  return keys;
}

/** The 24 bits of a salt, the lowest of which swaps the first bits of both halves of E. */
function swapMask(salt: number): number {
  let mask = 0;
  for (let i = 0; i < 24; i++) mask |= ((salt >> i) & 1) << (23 - i);
  return mask;
}

/**
 * Encrypts a block again and again.
 * @param block 8 bytes; the result is new
 * @param salt 24 bits; 0 is plain DES
 */
function encrypt(block: Uint8Array, keys: KeySchedule, { salt = 0, times = 1 } = {}): Buffer {
  const mask = swapMask(salt);
  let [left, right] = permuted(block);
  for (let time = 0; time < times; time++) {
    for (let round = 0; round < 32; round += 2) {
      const turned = (right >>> 1) | (right << 31);
      let high = (turned >>> 8) & 0xfc0000;
      high |= ((turned >>> 10) & 0x3f000) | ((turned >>> 12) & 0xfc0) | ((turned >>> 14) & 0x3f);
      let low = ((turned << 8) & 0xfc0000) | ((turned << 6) & 0x3f000);
      low |= ((turned << 4) & 0xfc0) | (((turned << 2) | (turned >>> 30)) & 0x3f);
      const swap = (high ^ low) & mask;
      high ^= swap ^ (keys[round] as number);
      low ^= swap ^ (keys[round + 1] as number);
      const next = left ^ boxed(high, 0) ^ boxed(low, 256);
      left = right;
      right = next;
    }
    [left, right] = [right, left];
  }
  return blockOf(left, right);
}

function boxed(bits: number, first: number): number {
  return (
    (SP[first + (bits >>> 18)] as number) |
    (SP[first + 64 + ((bits >>> 12) & 63)] as number) |
    (SP[first + 128 + ((bits >>> 6) & 63)] as number) |
    (SP[first + 192 + (bits & 63)] as number)
  );
}

/** IP: bit 8·row + column of the block goes to bit `placeOf`. The even columns make up the left half. */
function placeOf(bit: number): number {
  const [row, column] = [bit >> 3, bit & 7];
  return (column & 1 ? 0 : 32) + 8 * (column >> 1) + (7 - row);
}

function permuted(block: Uint8Array): [left: number, right: number] {
  const halves: [number, number] = [0, 0];
  for (let bit = 0; bit < 64; bit++) {
    const to = placeOf(bit);
    halves[to >> 5 ? 1 : 0] |= (((block[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) << (31 - (to & 31));
  }
  return halves;
}

function blockOf(left: number, right: number): Buffer {
  const block = Buffer.alloc(8);
  for (let bit = 0; bit < 64; bit++) {
    const from = placeOf(bit);
    const half = from >> 5 ? right : left;
    block[bit >> 3] = (block[bit >> 3] ?? 0) | (((half >>> (31 - (from & 31))) & 1) << (7 - (bit & 7)));
  }
  return block;
}
