/** Shared parts of the crypt(3) family: its base64, and the rounds of md5-crypt and sha2-crypt. */
import { hash } from 'node:crypto';

/** The alphabet of crypt(3); a character's index is its value. */
export const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export type Digest = 'md5' | 'sha256' | 'sha512';

/**
 * crypt(3) base64: groups of three bytes, lowest first, as four characters, lowest six bits first; one or two remaining
 * bytes take two or three characters.
 * @param order the order of the bytes; absent: unchanged
 */
export function encodeCrypt64(bytes: Uint8Array, order: readonly number[] = [...bytes.keys()]): string {
  let text = '';
  for (let i = 0; i < order.length; i += 3) {
    const group = order.slice(i, i + 3).map((at) => bytes[at] ?? 0);
    let bits = (group[0] ?? 0) | ((group[1] ?? 0) << 8) | ((group[2] ?? 0) << 16);
    for (let n = 0; n <= group.length; n++) {
      text += ALPHABET[bits & 63];
      bits >>= 6;
    }
  }
  return text;
}

/** The bytes, repeated and cut off at `length`. */
export function repeatTo(bytes: Uint8Array, length: number): Buffer {
  return Buffer.alloc(length, bytes);
}

/**
 * The rounds of md5-crypt and sha2-crypt (SHA-crypt specification, step 21). Round i hashes the current digest, the
 * password and the salt in one of eight layouts, which depends on whether i is odd, a multiple of 3, or a multiple of
 * 7. Each layout is built once; a round only writes the digest into its place.
 */
export function stretch(
  algorithm: Digest,
  start: Uint8Array,
  { password, salt, rounds }: { password: Uint8Array; salt: Uint8Array; rounds: number },
): Buffer {
  const layouts = Array.from({ length: 8 }, (_, kind) => {
    const odd = (kind & 1) !== 0;
    const middle = [kind & 2 ? salt : [], kind & 4 ? password : []].map((part) => Uint8Array.from(part));
    const text = Buffer.concat(odd ? [password, ...middle, start] : [start, ...middle, password]);
    return { text, at: odd ? text.length - start.length : 0 };
  });
  let digest = Buffer.from(start);
  for (let i = 0; i < rounds; i++) {
    const kind = (i & 1) | (i % 3 === 0 ? 0 : 2) | (i % 7 === 0 ? 0 : 4);
    const { text, at } = layouts[kind] as { text: Buffer; at: number };
    text.set(digest, at);
    digest = hash(algorithm, text, 'buffer');
  }
  return digest;
}
