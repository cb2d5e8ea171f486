/**
 * Random numbers that depend on a seed alone.
 *
 * Guarantee: the same seed gives the same numbers on every machine.
 */
import { createHash } from 'node:crypto';

export interface Random {
  /** A whole number from `least` to `most`. */
  int(least: number, most: number): number;
  /** True with the probability `share`, from 0 to 1. */
  chance(share: number): boolean;
  pick<T>(list: readonly T[]): T;
}

export function openRandom(seed: string): Random {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  // mulberry32, a published generator with 32 bits of state.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    int,
    chance: (share) => next() < share,
    pick: (list) => list[int(0, list.length - 1)] as (typeof list)[number],
  };
}
