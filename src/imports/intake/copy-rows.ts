/**
 * Collects the lines of a COPY as bytes in one buffer.
 *
 * Each line is encoded separately: V8 encodes a Latin-1 string in bulk, but falls back to encoding character by
 * character for the whole string as soon as it contains one other character.
 */

const START_BYTES = 96 * 1024;
/** The most bytes of one UTF-16 code unit in UTF-8. */
const MOST_BYTES = 3;

export class CopyRows {
  private bytes = Buffer.allocUnsafeSlow(START_BYTES);
  private at = 0;

  /** Bytes of the lines so far. */
  get length(): number {
    return this.at;
  }

  add(line: string): void {
    const most = this.at + line.length * MOST_BYTES;
    if (most > this.bytes.length) this.grow(most);
    this.at += this.bytes.write(line, this.at);
  }

  /** The lines so far. Call `clear` before you add the next one. */
  get lines(): Buffer {
    return this.bytes.subarray(0, this.at);
  }

  /** @param isFree the lines have been sent, so the next ones may overwrite them */
  clear(isFree: boolean): void {
    if (!isFree) this.bytes = Buffer.allocUnsafeSlow(START_BYTES);
    this.at = 0;
  }

  private grow(least: number): void {
    const larger = Buffer.allocUnsafeSlow(2 * least);
    this.bytes.copy(larger, 0, 0, this.at);
    this.bytes = larger;
  }
}
