/**
 * bcrypt of bytes that need not be text, and with the fault of the variant `$2x$`: crypt_blowfish before 1.1, which PHP
 * before 5.3.7 contains, read bytes from 128 on as negative numbers. openwall.com/crypt (crypt_blowfish.c, BF_set_key).
 * Provos, Mazières: "A Future-Adaptable Password Scheme", 1999.
 *
 * In JavaScript, as no package computes it; it takes about as long as bcryptjs.
 */

const ROUNDS = 16;
const SUBKEYS = ROUNDS + 2;
const BOXES = 4 * 256;
const TEXT = 'OrpheanBeholderScryDoubt';
const TIMES = 64;
const HASH_BYTES = 23;

interface State {
  p: Int32Array;
  s: Int32Array;
}

/**
 * The 23 bytes of the hash.
 * @param password the first 72 bytes count
 * @param signed with the fault of `$2x$`
 */
export function bcryptOfBytes(
  password: Uint8Array,
  { cost, salt, signed = false }: { cost: number; salt: Uint8Array; signed?: boolean },
): Buffer {
  const key = wordsOf(Uint8Array.of(...password, 0), SUBKEYS, signed);
  const saltWords = wordsOf(salt, 4, false);
  // A salt of 16 bytes, repeated as a key of 18 words is.
  const saltKey = wordsOf(salt, SUBKEYS, false);
  const none = new Int32Array(4);
  const [p, s] = initial();
  const state: State = { p: p.slice(), s: s.slice() };
  expand(state, key, saltWords);
  for (let i = 2 ** cost; i > 0; i--) {
    expand(state, key, none);
    expand(state, saltKey, none);
  }
  const text = wordsOf(Buffer.from(TEXT), TEXT.length / 4, false);
  for (let at = 0; at < text.length; at += 2) for (let i = 0; i < TIMES; i++) encrypt(state, text, at);
  const made = Buffer.alloc(TEXT.length);
  text.forEach((word, i) => {
    made.writeInt32BE(word, 4 * i);
  });
  return made.subarray(0, HASH_BYTES);
}

/** Bytes in turn, the first of a word at its top. */
function wordsOf(bytes: Uint8Array, count: number, signed: boolean): Int32Array {
  const words = new Int32Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    let word = 0;
    for (let n = 0; n < 4; n++) {
      const byte = bytes[at] as number;
      word = (word << 8) | (signed ? (byte << 24) >> 24 : byte);
      at = (at + 1) % bytes.length;
    }
    words[i] = word;
  }
  return words;
}

/** Mixes the key and four words of salt into the state. */
function expand(state: State, key: Int32Array, salt: Int32Array): void {
  const { p, s } = state;
  for (let i = 0; i < SUBKEYS; i++) p[i] = (p[i] as number) ^ (key[i] as number);
  const pair = new Int32Array(2);
  let from = 0;
  for (const words of [p, s]) {
    for (let i = 0; i < words.length; i += 2) {
      pair[0] = (pair[0] as number) ^ (salt[from] as number);
      pair[1] = (pair[1] as number) ^ (salt[from + 1] as number);
      from = 2 - from;
      encrypt(state, pair, 0);
      words[i] = pair[0] as number;
      words[i + 1] = pair[1] as number;
    }
  }
}

/** Encrypts two words in their place. */
function encrypt({ p, s }: State, words: Int32Array, at: number): void {
  let left = (words[at] as number) ^ (p[0] as number);
  let right = words[at + 1] as number;
  for (let i = 1; i <= ROUNDS; i += 2) {
    right ^= mixed(s, left) ^ (p[i] as number);
    left ^= mixed(s, right) ^ (p[i + 1] as number);
  }
  words[at] = right ^ (p[SUBKEYS - 1] as number);
  words[at + 1] = left;
}

function mixed(s: Int32Array, word: number): number {
  const sum = (s[word >>> 24] as number) + (s[256 + ((word >>> 16) & 255)] as number);
  return ((sum ^ (s[512 + ((word >>> 8) & 255)] as number)) + (s[768 + (word & 255)] as number)) | 0;
}

let pi: [Int32Array, Int32Array] | undefined;

/** Blowfish begins with the digits of pi behind the point. Computed once in each thread, in some tens of milliseconds. */
function initial(): [Int32Array, Int32Array] {
  if (pi === undefined) {
    const spare = 64n;
    const bits = BigInt(32 * (SUBKEYS + BOXES));
    const one = 1n << (bits + spare);
    const digits = ((16n * arctan(5n, one) - 4n * arctan(239n, one)) >> spare) - 3n * (1n << bits);
    const bytes = Buffer.from(digits.toString(16).padStart(Number(bits) / 4, '0'), 'hex');
    const words = Int32Array.from({ length: SUBKEYS + BOXES }, (_, i) => bytes.readInt32BE(4 * i));
    pi = [words.slice(0, SUBKEYS), words.slice(SUBKEYS)];
  }
  return pi;
}

/** The arc tangent of 1/x, as a multiple of 1/one. */
function arctan(x: bigint, one: bigint): bigint {
  let term = one / x;
  let sum = term;
  for (let n = 3n; term !== 0n; n += 2n) {
    term /= -(x * x);
    sum += term / n;
  }
  return sum;
}
