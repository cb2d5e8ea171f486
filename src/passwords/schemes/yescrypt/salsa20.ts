/** The Salsa20 core (RFC 7914, section 3) and scrypt's BlockMix, on words that yescrypt keeps in another order. */

/** Word i of a block is kept at the place whose number times five is i, modulo 16. */
export function placeOfWord(i: number): number {
  return (i * 5) % 16;
}

const x = new Int32Array(16);

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

/** Adds the Salsa20 core of 16 words to them. @param at where they begin @param rounds 2 or 8 */
export function salsa20(words: Int32Array, at: number, rounds: number): void {
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

/** scrypt's BlockMix for r = 1: two blocks of 16 words, in place. */
export function blockMixSalsa8(words: Int32Array): void {
  for (let i = 0; i < 16; i++) words[i] = (words[i] as number) ^ (words[16 + i] as number);
  salsa20(words, 0, 8);
  for (let i = 0; i < 16; i++) words[16 + i] = (words[16 + i] as number) ^ (words[i] as number);
  salsa20(words, 16, 8);
}
