/**
 * yescrypt's SMix for one lane (p = 1) and t = 0: fills memory with blocks, of which it reads and rewrites random ones.
 */
import { createHmac } from 'node:crypto';
import { type Boxes, blockMixPwxform, boxesOf, SBOX_WORDS } from './pwxform.ts';
import { blockMixSalsa8, placeOfWord } from './salsa20.ts';

/** Words of a block for each unit of r. */
const WORDS = 32;

interface Lane {
  /** The current block, 32·r words. */
  x: Int32Array;
  mix: (x: Int32Array) => void;
}

function load(bytes: Buffer): Int32Array {
  return Int32Array.from({ length: bytes.length / 4 }, (_, at) =>
    bytes.readInt32LE(4 * ((at & ~15) + placeOfWord(at & 15))),
  );
}

function store(x: Int32Array, bytes: Buffer): void {
  for (const [at, word] of x.entries()) bytes.writeInt32LE(word, 4 * ((at & ~15) + placeOfWord(at & 15)));
}

function powerOfTwoBelow(n: number): number {
  return 2 ** Math.floor(Math.log2(n));
}

/** Of the first `count` blocks, one that the last part of the current block chooses. */
function chosen(x: Int32Array, count: number): number {
  return (x[x.length - 16] as number) & (count - 1);
}

function xor(x: Int32Array, memory: Int32Array, at: number): void {
  for (let i = 0; i < x.length; i++) x[i] = (x[i] as number) ^ (memory[at + i] as number);
}

/** Fills the memory block by block; with `isRewriting`, earlier blocks are mixed in. */
function fill({ x, mix }: Lane, n: number, memory: Int32Array, isRewriting: boolean): void {
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

/** The S-boxes come from a small SMix over the first 128 bytes, which it changes. */
function boxesFrom(block: Buffer): Boxes {
  const first = block.subarray(0, 4 * WORDS);
  const lane = { x: load(first), mix: blockMixSalsa8 };
  const words = new Int32Array(SBOX_WORDS);
  fill(lane, SBOX_WORDS / WORDS, words, false);
  store(lane.x, first);
  return boxesOf(words);
}

/**
 * Mixes the block of 128·r bytes in place, with 128·N·r bytes of memory.
 * @returns the key for the last step, made of the block and the one given
 */
export function smix(block: Buffer, n: number, key: Buffer): Buffer {
  const boxes = boxesFrom(block);
  const changed = createHmac('sha256', block.subarray(-64)).update(key).digest();
  const lane = { x: load(block), mix: (x: Int32Array) => blockMixPwxform(x, boxes) };
  const memory = new Int32Array(n * lane.x.length);
  fill(lane, n, memory, true);
  // A third of N, rounded up to an even number.
  const times = Math.ceil(n / 3);
  rewrite(lane, n, times + (times & 1), memory);
  store(lane.x, block);
  return changed;
}
