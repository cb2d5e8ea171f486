/**
 * Guesses where the last comma between two entries of `humanUsers` is, from how they met before.
 *
 * Bodies are written by programs, which begin each entry alike: looking for that from the end is a thousand times faster than
 * reading every byte. The guess may be wrong, as such a text can stand in a string or deeper inside: it holds if what lies
 * before it is JSON by itself, which nothing is that ends within a string or a container. After some that did not hold no
 * more are made.
 */

/** Of the comma, what is before it and what is behind it. */
const BEFORE = 1;
const BEHIND = 9;
const MOST_MISSES = 3;

export class LastComma {
  private between: Buffer | undefined;
  private misses = 0;

  /** Is told where a comma between two entries was found. */
  learn(buffer: Buffer, comma: number): void {
    if (this.between || comma < BEFORE || comma + BEHIND >= buffer.length) return;
    this.between = Buffer.from(buffer.subarray(comma - BEFORE, comma + BEHIND));
  }

  /** Its position, or -1. */
  guess(buffer: Buffer, from: number): number {
    if (!this.between || this.misses >= MOST_MISSES) return -1;
    const at = buffer.lastIndexOf(this.between);
    return at < from ? -1 : at + BEFORE;
  }

  miss(): void {
    this.misses++;
  }
}
