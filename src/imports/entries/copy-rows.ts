/**
 * Collects the lines of a COPY as bytes in one buffer.
 *
 * Each line is encoded separately: V8 encodes a Latin-1 string in bulk, but falls back to encoding character by
 * character for the whole string as soon as it contains one other character.
 */

const START_BYTES = 96 * 1024;

/** The most bytes of one UTF-16 code unit in UTF-8. */
const MOST_BYTES = 3;

const ZERO = 0x30;

export class CopyRows {
  /** The lines so far are the bytes before `length`. */
  bytes = Buffer.allocUnsafeSlow(START_BYTES);
  private at = 0;

  /** Bytes of the lines so far. */
  get length(): number {
    return this.at;
  }

  add(line: string): void {
    this.reserve(line.length * MOST_BYTES);
    this.at += this.bytes.write(line, this.at);
  }

  // A line can be written in parts, too: reserve room for all of them first.

  reserve(bytes: number): void {
    const most = this.at + bytes;
    if (most > this.bytes.length) this.grow(most);
  }

  /** Forgets what was written after `length`. */
  cut(length: number): void {
    this.at = length;
  }

  addByte(byte: number): void {
    this.bytes[this.at++] = byte;
  }

  addNumber(n: number): void {
    if (n >= 10) this.addNumber(Math.floor(n / 10));
    this.addByte(ZERO + (n % 10));
  }

  addBytes(from: Uint8Array, start: number, end: number): void {
    const { bytes } = this;
    let { at } = this;
    for (let i = start; i < end; i++) bytes[at++] = from[i] as number;
    this.at = at;
  }

  /** What was written into `bytes` up to `end` belongs to the lines. */
  extend(end: number): void {
    this.at = end;
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
