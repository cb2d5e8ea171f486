/**
 * yescrypt's pwxform: multiplications of 32 bits and lookups in three S-boxes that change while they are used. With
 * yescrypt's only parameters: 2 lanes, 4 gathers, 6 rounds, S-boxes of 2^8 entries.
 */
import { salsa20 } from './salsa20.ts';

const BLOCK_WORDS = 16;
const GATHER = 4;
const SIMPLE = 2;
const ROUNDS = 6;
const ENTRIES = 2 ** 8;
/** Words of one S-box; an entry has two numbers of 64 bits. */
const BOX_WORDS = ENTRIES * SIMPLE * 2;
/** The words of all three S-boxes. */
export const SBOX_WORDS = 3 * BOX_WORDS;
/** Selects the byte offset of an entry: a multiple of 16. */
const MASK = (ENTRIES - 1) * SIMPLE * 8;

/** The S-boxes, in which the three boxes change roles after each block. */
export interface Boxes {
  words: Int32Array;
  s0: number;
  s1: number;
  s2: number;
  /** Where the next result is written in the third box, in words. */
  at: number;
}

/** @param words SBOX_WORDS of them */
export function boxesOf(words: Int32Array): Boxes {
  return { words, s2: 0, s1: BOX_WORDS, s0: 2 * BOX_WORDS, at: 0 };
}

/** The upper 32 bits of the product of two unsigned numbers of 32 bits. */
function upperHalf(a: number, b: number): number {
  const first = (Math.imul(a >>> 16, b & 0xffff) + (Math.imul(a & 0xffff, b & 0xffff) >>> 16)) | 0;
  const second = (Math.imul(a & 0xffff, b >>> 16) + (first & 0xffff)) | 0;
  return (Math.imul(a >>> 16, b >>> 16) + (first >>> 16) + (second >>> 16)) | 0;
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

/** BlockMix with pwxform, in place. */
export function blockMixPwxform(words: Int32Array, boxes: Boxes): void {
  let previous = words.length - BLOCK_WORDS;
  for (let at = 0; at < words.length; at += BLOCK_WORDS) {
    for (let i = 0; i < BLOCK_WORDS; i++) words[at + i] = (words[at + i] as number) ^ (words[previous + i] as number);
    pwxform(words, at, boxes);
    previous = at;
  }
  salsa20(words, previous, 2);
}
