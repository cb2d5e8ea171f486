/**
 * Lines for COPY, gathered as bytes.
 *
 * Each line is encoded by itself: the engine does that by the run of bytes for a line of Latin-1, and letter by letter for a
 * text of many lines as soon as one letter in it lies outside.
 */

const START_BYTES = 96 * 1024;
/** Of one UTF-16 unit in UTF-8. */
const MOST_BYTES = 3;

export class CopyRows {
  private bytes = Buffer.allocUnsafeSlow(START_BYTES);
  private at = 0;

  get isEmpty(): boolean {
    return this.at === 0;
  }

  add(line: string): void {
    const most = this.at + line.length * MOST_BYTES;
    if (most > this.bytes.length) this.grow(most);
    this.at += this.bytes.write(line, this.at);
  }

  /** The lines so far; they are to be cleared before the next one is added. */
  get lines(): Buffer {
    return this.bytes.subarray(0, this.at);
  }

  /** @param isFree nobody reads the lines any more, so the next ones may be written over them */
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
