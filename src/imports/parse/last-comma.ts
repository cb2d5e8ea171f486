/**
 * Guesses where the last comma between two entries of `humanUsers` is, from the bytes around an earlier such comma.
 *
 * Programs write bodies and begin each entry with the same bytes. Searching backwards for these bytes is a thousand
 * times faster than reading every byte. The guess may be wrong, as the same bytes can occur inside a string or a nested
 * object. It is right if the text before it is valid JSON, because a text that ends inside a string or a container
 * never is. After three wrong guesses no more are made.
 */

/** How many bytes before and after the comma are remembered. */
const BEFORE = 1;
const BEHIND = 9;
const MOST_MISSES = 3;

export class LastComma {
  private between: Buffer | undefined;
  private misses = 0;
  /** Holds no further comma, so a chunk with many short arrays is not searched again for each of them. */
  private exhausted: Buffer | undefined;

  /** Remembers the bytes around a comma that lies between two entries. */
  learn(buffer: Buffer, comma: number): void {
    if (this.between || comma < BEFORE || comma + BEHIND >= buffer.length) return;
    this.between = Buffer.from(buffer.subarray(comma - BEFORE, comma + BEHIND));
  }

  /** The guessed position of the last comma, or -1. @param from no less than before in the same buffer */
  guess(buffer: Buffer, from: number): number {
    if (!this.between || this.misses >= MOST_MISSES || buffer === this.exhausted) return -1;
    const at = buffer.lastIndexOf(this.between);
    if (at >= from) return at + BEFORE;
    this.exhausted = buffer;
    return -1;
  }

  /** Reports that the last guess was wrong. */
  miss(): void {
    this.misses++;
  }
}
