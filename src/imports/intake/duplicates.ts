/**
 * Detects user ids and user names that may appear twice in one body, in memory that does not grow with the body.
 *
 * The first keys are kept as they are; once there are more, a Bloom filter of 2^28 bits replaces them. Before the import starts, SQL checks each suspected duplicate exactly
 * (settle-duplicates.ts), so that the first occurrence wins, whatever order the workers run in. At a million users
 * about one in a million is a false positive. All bits of a key are in one cache line, because a Bloom filter spends
 * its time waiting for memory (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007). The
 * memory pages of the filter are zero and cost nothing until they are used.
 */

/**
 * The keys of about 500 users. V8 counts the memory of a filter although hardly any of it is used, and collects all
 * garbage after every other filter, which takes longer than a small import.
 */
const FEW = 1000;

const BITS = 2 ** 28;
/** Size of a cache line in 32-bit words. */
const BLOCK_WORDS = 16;
const BLOCKS = BITS / 32 / BLOCK_WORDS;
const BITS_OF_BLOCK = 9;

/** The kinds of keys. */
export const ID = 1;
export const NAME = 2;

export interface DuplicateFilter {
  /**
   * Adds the key; returns whether it may have been added before.
   * @param kind separates keys of different kinds, such as an id and a name with the same text
   */
  add(key: string, kind: number): boolean;
}

export function createDuplicateFilter(): DuplicateFilter {
  const few = new Map<string, [key: string, kind: number]>();
  let bloom: DuplicateFilter | undefined;

  function useBloom(): DuplicateFilter {
    const filter = createBloomFilter();
    for (const one of few.values()) filter.add(...one);
    few.clear();
    return filter;
  }

  return {
    add(key, kind) {
      if (bloom) return bloom.add(key, kind);
      const name = `${kind} ${key}`;
      if (few.has(name)) return true;
      few.set(name, [key, kind]);
      if (few.size > FEW) bloom = useBloom();
      return false;
    },
  };
}

function createBloomFilter(): DuplicateFilter {
  const words = new Uint32Array(BITS / 32);

  /** Sets the bit that the lowest nine bits of `n` select; returns 1 if it was already set. */
  function mark(block: number, n: number): number {
    const at = block + ((n >>> 5) & (BLOCK_WORDS - 1));
    const mask = 1 << (n & 31);
    const old = words[at] as number;
    if (old & mask) return 1;
    words[at] = old | mask;
    return 0;
  }

  return {
    add(key, kind) {
      const { low, high } = hash(key, kind);
      const block = (low & (BLOCKS - 1)) * BLOCK_WORDS;
      const first = mark(block, high);
      const second = mark(block, high >>> BITS_OF_BLOCK);
      const third = mark(block, high >>> (2 * BITS_OF_BLOCK));
      const fourth = mark(block, low >>> (32 - BITS_OF_BLOCK));
      return (first & second & third & fourth) === 1;
    },
  };
}

const result = { low: 0, high: 0 };

// V8 has many kinds of strings, and would look up the method for every character again.
const { charCodeAt } = String.prototype;

/** Two independent 32-bit hashes (FNV-1a and a multiplicative one, each with the finaliser of MurmurHash3). */
function hash(key: string, kind: number): { low: number; high: number } {
  let a = 0x811c9dc5 ^ kind;
  let b = 0x9747b28c + kind;
  const { length } = key;
  for (let i = 0; i < length; i++) {
    const c = charCodeAt.call(key, i);
    a = Math.imul(a ^ c, 0x01000193);
    b = Math.imul(b, 31) + c;
  }
  result.low = mix(a);
  result.high = mix(b);
  return result;
}

function mix(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
