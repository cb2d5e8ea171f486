/**
 * Detects user ids and user names that may appear twice in one body, in memory that does not grow with the body.
 *
 * The first keys are kept as they are; once there are more, Bloom filters replace them, each when the one before is full.
 * They are small at first, as each page of memory that is touched takes time (5 to 30 ms for 8 MB) and stays with the
 * process: an import of 30,000 users takes half a megabyte, one of a million 16 MB, a larger one 32 MB more, whatever
 * its size. Before the import starts, SQL checks each suspected duplicate exactly (`settleDuplicates`), so that the first
 * occurrence wins, whatever order the workers run in. That takes a while, so wrong suspicions are rare: none in most
 * imports of a million users, a few among five million.
 * All bits of a key are in one cache line, because a Bloom filter spends its time waiting for memory (Putze, Sanders,
 * Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007). The memory pages of a filter are zero and cost
 * nothing until they are used.
 */

/**
 * The keys of about 500 users. V8 counts the memory of a filter although hardly any of it is used, and collects all
 * garbage after every other filter, which takes longer than a small import.
 */
const FEW = 1000;

/** The size of each filter, and the keys after which the next one begins; users have two keys each. */
const FILTERS = [
  { bits: 2 ** 22, keys: 63_000 },
  { bits: 2 ** 26, keys: 1_010_000 },
  { bits: 2 ** 26, keys: 1_010_000 },
  { bits: 2 ** 28, keys: Number.POSITIVE_INFINITY },
];
/** Bits of a key. */
const PROBES = 8;
/** Size of a cache line in 32-bit words. */
const BLOCK_WORDS = 16;
const BLOCK_BITS = 32 * BLOCK_WORDS;

/** Keys up to this size are encoded into one buffer. */
const USUAL_KEY_BYTES = 1024;
/** The most bytes of one UTF-16 code unit in UTF-8. */
const MOST_BYTES = 3;

/** The kinds of keys. */
export const ID = 1;
export const NAME = 2;
export const PASSKEY = 3;

export interface DuplicateFilter {
  /**
   * Adds the key; returns whether it may have been added before.
   * @param kind separates keys of different kinds, such as an id and a name with the same text
   */
  add(key: string, kind: number): boolean;
  /** Adds the key whose UTF-8 is in `bytes` from `start` to `end`. */
  addBytes(bytes: Buffer, start: number, end: number, kind: number): boolean;
}

export function createDuplicateFilter(): DuplicateFilter {
  const few = new Map<string, [key: string, kind: number]>();
  let bloom: AddBytes | undefined;
  const encoded = Buffer.alloc(USUAL_KEY_BYTES);

  function addText(add: AddBytes, key: string, kind: number): boolean {
    if (key.length * MOST_BYTES <= encoded.length) return add(encoded, 0, encoded.write(key), kind);
    const bytes = Buffer.from(key);
    return add(bytes, 0, bytes.length, kind);
  }

  function useBloom(): AddBytes {
    const add = createFilters();
    for (const [key, kind] of few.values()) addText(add, key, kind);
    few.clear();
    return add;
  }

  function addToFew(key: string, kind: number): boolean {
    const name = `${kind} ${key}`;
    if (few.has(name)) return true;
    few.set(name, [key, kind]);
    if (few.size > FEW) bloom = useBloom();
    return false;
  }

  return {
    add: (key, kind) => (bloom ? addText(bloom, key, kind) : addToFew(key, kind)),
    addBytes: (bytes, start, end, kind) =>
      bloom ? bloom(bytes, start, end, kind) : addToFew(bytes.toString('utf8', start, end), kind),
  };
}

type AddBytes = DuplicateFilter['addBytes'];

/** A filter after the other. */
function createFilters(): AddBytes {
  const full: BloomFilter[] = [];
  let current = createBloomFilter(FILTERS[0]?.bits as number);
  let keys = 0;
  return (bytes, start, end, kind) => {
    const { low, high } = hash(bytes, start, end, kind);
    for (const filter of full) if (filter.has(low, high)) return true;
    if (current.add(low, high)) return true;
    if (++keys >= (FILTERS[full.length]?.keys as number)) {
      full.push(current);
      current = createBloomFilter(FILTERS[full.length]?.bits as number);
      keys = 0;
    }
    return false;
  };
}

interface BloomFilter {
  has(low: number, high: number): boolean;
  /** Adds the key; returns whether it may have been there before. */
  add(low: number, high: number): boolean;
}

/** A key has a block, and in it the bits of a cubic sequence, which differs from key to key in 36 bits of the hashes. */
function createBloomFilter(bits: number): BloomFilter {
  const words = new Uint32Array(bits / 32);
  const lastBlock = bits / BLOCK_BITS - 1;

  function visitAll(low: number, high: number, set: boolean): boolean {
    const block = (low & lastBlock) * BLOCK_WORDS;
    let bit = high & 511;
    let step = (high >>> 9) & 511;
    let growth = (high >>> 18) & 511;
    const last = low >>> 23;
    let isThere = true;
    for (let n = 0; n < PROBES; n++) {
      const at = block + ((bit >>> 5) & (BLOCK_WORDS - 1));
      const mask = 1 << (bit & 31);
      const old = words[at] as number;
      if ((old & mask) === 0) {
        if (!set) return false;
        words[at] = old | mask;
        isThere = false;
      }
      bit += step;
      step += growth;
      growth += last;
    }
    return isThere;
  }

  return {
    has: (low, high) => visitAll(low, high, false),
    add: (low, high) => visitAll(low, high, true),
  };
}

const result = { low: 0, high: 0 };

/** Two independent 32-bit hashes (FNV-1a and a multiplicative one, each with the finaliser of MurmurHash3). */
function hash(bytes: Buffer, start: number, end: number, kind: number): { low: number; high: number } {
  let a = 0x811c9dc5 ^ kind;
  let b = 0x9747b28c + kind;
  for (let i = start; i < end; i++) {
    const c = bytes[i] as number;
    a = Math.imul(a ^ c, 0x01000193);
    b = (Math.imul(b, 0x9e3779b1) + c) | 0;
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
