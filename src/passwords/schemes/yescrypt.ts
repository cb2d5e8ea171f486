/**
 * yescrypt, crypt(3)'s default in Debian, Fedora and Ubuntu: `$y$j9T$salt$hash`. The three characters are the flavor, N
 * and r. Other parameters (p, t, a ROM) and flavors, which no crypt(3) writes, are rejected. www.openwall.com/yescrypt;
 * man crypt(5).
 *
 * Computed here in JavaScript for one lane (p = 1) and t = 0: SMix fills memory with blocks, of which it reads and
 * rewrites random ones. It mixes blocks with pwxform, multiplications of 32 bits and lookups in three S-boxes that
 * change while they are used: 2 lanes, 4 gathers, 6 rounds, S-boxes of 2^8 entries. Salsa20 follows RFC 7914, section
 * 3, on words that yescrypt keeps in another order.
 */
import { createHmac, hash, pbkdf2Sync } from 'node:crypto';
import { defineScheme, joined, numberProblem, type Secret, sameText } from '../scheme.ts';
import { yescryptWork } from '../work.ts';
import { ALPHABET, encodeCrypt64 } from './crypt3.ts';

const PREFIX = '$y$';
const LARGEST = 256 * 2 ** 20;
/** From here on, a first pass with N/64 protects against a weak password. */
const PREHASH_FROM = 2 ** 17;
const FORM = /^[./0-9A-Za-z]{42}[./0-9A-D]$/;
const LONGEST_SALT = 86;

/** Words of a block for each unit of r. */
const WORDS = 32;

const BLOCK_WORDS = 16;
const GATHER = 4;
const SIMPLE = 2;
const ROUNDS = 6;
const ENTRIES = 2 ** 8;
/** Words of one S-box; an entry has two numbers of 64 bits. */
const BOX_WORDS = ENTRIES * SIMPLE * 2;
/** The words of all three S-boxes. */
const SBOX_WORDS = 3 * BOX_WORDS;
/** Selects the byte offset of an entry: a multiple of 16. */
const MASK = (ENTRIES - 1) * SIMPLE * 8;

/** The words that the Salsa20 core works on. */
const x = new Int32Array(16);

interface Parts {
  n: number;
  r: number;
  salt: Buffer;
  digest: string;
}

interface Lane {
  /** The current block, 32·r words. */
  x: Int32Array;
  mix: (x: Int32Array) => void;
}

/** The S-boxes, in which the three boxes change roles after each block. */
interface Boxes {
  words: Int32Array;
  s0: number;
  s1: number;
  s2: number;
  /** Where the next result is written in the third box, in words. */
  at: number;
}

export const yescryptScheme = defineScheme({
  name: 'yescrypt',
  matches: (encoded) => encoded.startsWith(PREFIX),
  parse,
  work: (parts) => yescryptWork(parts),
  verify: (parts, password) => sameText(digestOf(parts, password), parts.digest),
});

function parse(encoded: string): Parts | string {
  const [parameters = '', saltText, digest, ...more] = encoded.slice(PREFIX.length).split('$');
  const form = /^j([./0-9A-Za-j])([./0-9A-Za-j])$/.exec(parameters);
  if (form === null) return 'the parameters are not those of crypt(3): j, one character of N, one of r';
  const [log2, r] = [form[1], form[2]].map((digit) => ALPHABET.indexOf(digit as string) + 1) as [number, number];
  const problem = numberProblem('log2 of N', log2, 8, 18);
  if (problem !== undefined) return problem;
  const n = 2 ** log2;
  if (128 * n * r > LARGEST) return 'memory 128·N·r is out of bounds (256 MiB)';
  if (saltText === undefined || digest === undefined || more.length > 0) {
    return 'the fields are not parameters, salt and hash';
  }
  const salt = saltText.length > LONGEST_SALT ? undefined : decodeCrypt64(saltText);
  if (salt === undefined) return 'the salt is damaged or not in the alphabet of crypt(3)';
  if (!FORM.test(digest)) return 'the hash is cut off or not in the alphabet of crypt(3)';
  return { n, r, salt, digest };
}

/** crypt(3)'s base64 of bytes; undefined when the text is damaged. */
function decodeCrypt64(text: string): Buffer | undefined {
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i += 4) {
    const digits = [...text.slice(i, i + 4)].map((digit) => ALPHABET.indexOf(digit));
    if (digits.includes(-1) || digits.length === 1) return undefined;
    const bits = digits.reduce((sum, digit, at) => sum | (digit << (6 * at)), 0);
    for (let at = 0; at < digits.length - 1; at++) bytes.push((bits >> (8 * at)) & 255);
    if (bits >> (8 * (digits.length - 1)) !== 0) return undefined;
  }
  return Buffer.from(bytes);
}

function digestOf(parts: Parts, password: Secret): string {
  let key: Buffer = joined(password);
  const { n, r } = parts;
  if (n >= 256 && n * r >= PREHASH_FROM) key = pass('yescrypt-prehash', key, { ...parts, n: n / 64 });
  const last = pass('yescrypt', key, parts);
  // As in SCRAM (RFC 5802), a server that leaks the hash leaks no key with which a client logs in.
  return encodeCrypt64(hash('sha256', hmac(last, 'Client Key'), 'buffer'));
}

/** One pass; the key of PBKDF2 changes between its two uses. */
function pass(name: string, password: Buffer, { n, r, salt }: Pick<Parts, 'n' | 'r' | 'salt'>): Buffer {
  const key = hmac(name, password);
  const block = pbkdf2Sync(key, salt, 1, 128 * r, 'sha256');
  const changed = smix(block, n, Buffer.from(block.subarray(0, 32)));
  return pbkdf2Sync(changed, block, 1, 32, 'sha256');
}

function hmac(key: string | Buffer, text: string | Buffer): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/**
 * Mixes the block of 128·r bytes in place, with 128·N·r bytes of memory.
 * @returns the key for the last step, made of the block and the one given
 */
function smix(block: Buffer, n: number, key: Buffer): Buffer {
  const boxes = boxesFrom(block);
  const changed = createHmac('sha256', block.subarray(-64)).update(key).digest();
  const lane = { x: load(block), mix: (x: Int32Array) => blockMixPwxform(x, boxes) };
  const memory = new Int32Array(n * lane.x.length);
  fill(lane, n, memory, { isRewriting: true });
  // A third of N, rounded up to an even number.
  const times = Math.ceil(n / 3);
  rewrite(lane, n, times + (times & 1), memory);
  store(lane.x, block);
  return changed;
}

function load(bytes: Buffer): Int32Array {
  return Int32Array.from({ length: bytes.length / 4 }, (_, at) =>
    bytes.readInt32LE(4 * ((at & ~15) + placeOfWord(at & 15))),
  );
}

function store(x: Int32Array, bytes: Buffer): void {
  for (const [at, word] of x.entries()) bytes.writeInt32LE(word, 4 * ((at & ~15) + placeOfWord(at & 15)));
}

/** Fills the memory block by block; with `isRewriting`, earlier blocks are mixed in. */
function fill({ x, mix }: Lane, n: number, memory: Int32Array, { isRewriting = false } = {}): void {
  for (let i = 0; i < n; i++) {
    memory.set(x, i * x.length);
    if (isRewriting && i > 1) {
      const count = powerOfTwoBelow(i);
      xor(x, memory, (chosen(x, count) + (i - count)) * x.length);
    }
    mix(x);
  }
}

function rewrite({ x, mix }: Lane, n: number, times: number, memory: Int32Array): void {
  for (let i = 0; i < times; i++) {
    const at = chosen(x, n) * x.length;
    xor(x, memory, at);
    memory.set(x, at);
    mix(x);
  }
}

/** The index of the block that the last part of the current block chooses among the first `count` blocks. */
function chosen(x: Int32Array, count: number): number {
  return (x[x.length - 16] as number) & (count - 1);
}

function xor(x: Int32Array, memory: Int32Array, at: number): void {
  for (let i = 0; i < x.length; i++) x[i] = (x[i] as number) ^ (memory[at + i] as number);
}

function powerOfTwoBelow(n: number): number {
  return 2 ** Math.floor(Math.log2(n));
}

/** The S-boxes come from a small SMix over the first 128 bytes, which it changes. */
function boxesFrom(block: Buffer): Boxes {
  const first = block.subarray(0, 4 * WORDS);
  const lane = { x: load(first), mix: blockMixSalsa8 };
  const words = new Int32Array(SBOX_WORDS);
  fill(lane, SBOX_WORDS / WORDS, words);
  store(lane.x, first);
  return boxesOf(words);
}

/** @param words SBOX_WORDS of them */
function boxesOf(words: Int32Array): Boxes {
  return { words, s2: 0, s1: BOX_WORDS, s0: 2 * BOX_WORDS, at: 0 };
}

/** BlockMix with pwxform, in place. */
function blockMixPwxform(words: Int32Array, boxes: Boxes): void {
  let previous = words.length - BLOCK_WORDS;
  for (let at = 0; at < words.length; at += BLOCK_WORDS) {
    for (let i = 0; i < BLOCK_WORDS; i++) words[at + i] = (words[at + i] as number) ^ (words[previous + i] as number);
    pwxform(words, at, boxes);
    previous = at;
  }
  salsa20(words, previous, 2);
}

/** (high · low + s0) xor s1 with 64 bits, for each pair of words, six times. */
function pwxform(block: Int32Array, from: number, boxes: Boxes): void {
  const { words, s0, s1, s2 } = boxes;
  let { at } = boxes;
  for (let round = 0; round < ROUNDS; round++) {
    const isWritten = round !== 0 && round !== ROUNDS - 1;
    for (let place = from; place < from + 4 * GATHER; place += 4) {
      let p0 = s0 + (((block[place] as number) & MASK) >> 2);
      let p1 = s1 + (((block[place + 1] as number) & MASK) >> 2);
      for (let lane = place; lane < place + 2 * SIMPLE; lane += 2, p0 += 2, p1 += 2) {
        const a = block[lane] as number;
        const b = block[lane + 1] as number;
        const product = Math.imul(a, b);
        const low = (product + (words[p0] as number)) | 0;
        const carry = low >>> 0 < product >>> 0 ? 1 : 0;
        const high = (upperHalf(a, b) + (words[p0 + 1] as number) + carry) | 0;
        const x = low ^ (words[p1] as number);
        const y = high ^ (words[p1 + 1] as number);
        block[lane] = x;
        block[lane + 1] = y;
        if (isWritten) {
          words[s2 + at] = x;
          words[s2 + at + 1] = y;
          at += 2;
        }
      }
    }
  }
  boxes.s0 = s2;
  boxes.s1 = s0;
  boxes.s2 = s1;
  boxes.at = at & (BOX_WORDS - 1);
}

/** The upper 32 bits of the product of two unsigned numbers of 32 bits. */
function upperHalf(a: number, b: number): number {
  const first = (Math.imul(a >>> 16, b & 0xffff) + (Math.imul(a & 0xffff, b & 0xffff) >>> 16)) | 0;
  const second = (Math.imul(a & 0xffff, b >>> 16) + (first & 0xffff)) | 0;
  return (Math.imul(a >>> 16, b >>> 16) + (first >>> 16) + (second >>> 16)) | 0;
}

/** scrypt's BlockMix for r = 1: two blocks of 16 words, in place. */
function blockMixSalsa8(words: Int32Array): void {
  for (let i = 0; i < 16; i++) words[i] = (words[i] as number) ^ (words[16 + i] as number);
  salsa20(words, 0, 8);
  for (let i = 0; i < 16; i++) words[16 + i] = (words[16 + i] as number) ^ (words[i] as number);
  salsa20(words, 16, 8);
}

/** Adds the Salsa20 core of 16 words to them. @param at where they begin @param rounds 2 or 8 */
function salsa20(words: Int32Array, at: number, rounds: number): void {
  for (let i = 0; i < 16; i++) x[placeOfWord(i)] = words[at + i] as number;
  for (let round = 0; round < rounds; round += 2) {
    quarter(0, 4, 8, 12);
    quarter(5, 9, 13, 1);
    quarter(10, 14, 2, 6);
    quarter(15, 3, 7, 11);
    quarter(0, 1, 2, 3);
    quarter(5, 6, 7, 4);
    quarter(10, 11, 8, 9);
    quarter(15, 12, 13, 14);
  }
  for (let i = 0; i < 16; i++) words[at + i] = ((words[at + i] as number) + (x[placeOfWord(i)] as number)) | 0;
}

function quarter(a: number, b: number, c: number, d: number): void {
  let sum = ((x[a] as number) + (x[d] as number)) | 0;
  x[b] = (x[b] as number) ^ ((sum << 7) | (sum >>> 25));
  sum = ((x[b] as number) + (x[a] as number)) | 0;
  x[c] = (x[c] as number) ^ ((sum << 9) | (sum >>> 23));
  sum = ((x[c] as number) + (x[b] as number)) | 0;
  x[d] = (x[d] as number) ^ ((sum << 13) | (sum >>> 19));
  sum = ((x[d] as number) + (x[c] as number)) | 0;
  x[a] = (x[a] as number) ^ ((sum << 18) | (sum >>> 14));
}

/** Word i of a block is kept at the place whose number times five is i, modulo 16. */
function placeOfWord(i: number): number {
  return (i * 5) % 16;
}
