/**
 * Sees that a user id or user name may stand in one body twice, in memory that does not grow with the body.
 *
 * A Bloom filter of 2^28 bits: a "maybe" is settled exactly in SQL before the import starts (intake.ts), so that the
 * first one wins whatever order the workers run in. At a million users about one in ten million is asked in vain.
 * The pages of the filter are zero and cost nothing until they are touched.
 */

const BITS = 2 ** 28;
const HASHES = 5;

export interface DuplicateFilter {
  /** Whether the key may have been added before; adds it. */
  add(key: string): boolean;
}

export function createDuplicateFilter(): DuplicateFilter {
  const words = new Uint32Array(BITS / 32);
  return {
    add(key) {
      const { low, high } = hash(key);
      let seen = true;
      let at = low;
      for (let i = 0; i < HASHES; i++) {
        const bit = at & (BITS - 1);
        const word = bit >>> 5;
        const mask = 1 << (bit & 31);
        const old = words[word] as number;
        if ((old & mask) === 0) {
          seen = false;
          words[word] = old | mask;
        }
        at = (at + high) | 0;
      }
      return seen;
    },
  };
}

const result = { low: 0, high: 0 };

/** Two independent 32-bit hashes (FNV-1a and a multiplicative one, each with the finaliser of MurmurHash3). */
function hash(key: string): { low: number; high: number } {
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (let i = 0; i < key.length; i++) {
    const c = key.charCodeAt(i);
    a = Math.imul(a ^ c, 0x01000193);
    b = Math.imul(b, 31) + c;
  }
  result.low = mix(a);
  result.high = mix(b) | 1;
  return result;
}

function mix(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
