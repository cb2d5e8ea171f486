/**
 * Lines of text: a stream of bytes is split into lines, the ends of chunks are joined, and records of CSV are written.
 */

const NEWLINE = 0x0a;
/** The first size of a buffer, which then doubles. */
const FIRST_BYTES = 1024;
const NOTHING: Buffer = Buffer.alloc(0);

const NEEDS_QUOTES = /[",\r\n]/;
/** A spreadsheet would read such a cell as a formula (OWASP, "CSV Injection"); includes the full-width forms. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
/**
 * The same after what ends a cell where a spreadsheet separates cells by something else than a comma, such as in
 * countries that write a decimal comma: it then takes quotes inside a line for text.
 */
const FORMULA_INSIDE = /([;|\t\r\n]["'\s]*)(?=[=+\-@＝＋－＠])/g;

/**
 * Splits a stream of bytes into lines, and skips blank lines and leading whitespace.
 *
 * Guarantee: each byte is copied a bounded number of times, however small the chunks are; memory is bounded by one
 * chunk plus the unfinished line.
 */
export class Lines {
  /** The number of the line returned last, from 1; blank lines count. */
  number = 0;
  private held = Buffer.alloc(0);
  private length = 0;
  /** Lines that have ended, blank or not. */
  private ended = 0;

  /** The line that has not ended yet: its number, and its length so far. */
  get unfinished(): { number: number; bytes: number } {
    return { number: this.ended + 1, bytes: this.length };
  }

  /** The lines that end in `chunk`, without their newline; each is valid until the next one is requested. */
  *push(chunk: Buffer): Generator<Buffer> {
    for (let from = this.begin(chunk, 0); from < chunk.length; ) {
      const end = chunk.indexOf(NEWLINE, from);
      if (end < 0) return this.hold(chunk.subarray(from));
      yield this.finish(chunk.subarray(from, end));
      from = this.begin(chunk, end + 1);
    }
  }

  /** The text after the last newline, if any. */
  *rest(): Generator<Buffer> {
    if (this.length > 0) yield this.finish(Buffer.alloc(0));
  }

  /** Where the next line that is not blank begins; `from` itself inside an unfinished line. */
  private begin(chunk: Buffer, from: number): number {
    if (this.length > 0) return from;
    let at = from;
    for (; at < chunk.length; at++) {
      const c = chunk[at];
      if (c === NEWLINE) this.ended++;
      else if (c !== 0x20 && c !== 0x09 && c !== 0x0d) break;
    }
    return at;
  }

  private finish(tail: Buffer): Buffer {
    this.number = ++this.ended;
    if (this.length === 0) return tail;
    this.hold(tail);
    const line = this.held.subarray(0, this.length);
    this.length = 0;
    return line;
  }

  private hold(piece: Buffer): void {
    const needed = this.length + piece.length;
    if (needed > this.held.length) {
      const larger = Buffer.allocUnsafe(Math.max(FIRST_BYTES, needed, 2 * this.held.length));
      this.held.copy(larger, 0, 0, this.length);
      this.held = larger;
    }
    piece.copy(this.held, this.length);
    this.length = needed;
  }
}

/**
 * Joins the unfinished end of a buffer with the chunks that follow it.
 *
 * Guarantee: each byte is copied a bounded number of times on average, however small the chunks are; bytes that were
 * returned are never overwritten, so views of them stay valid; memory is bounded by twice the unfinished end plus one
 * chunk.
 */
export class Joiner {
  /** Where small chunks are collected; it grows by doubling. */
  private storage = NOTHING;
  /** Bytes of `storage` in use. What was returned last ends here. */
  private used = 0;

  /** `rest`, the end of what was returned last, followed by `chunk`. */
  join(rest: Buffer, chunk: Buffer): Buffer {
    if (chunk.length === 0) return rest;
    // Chunks of the usual size: copying the rest costs no more than reading the chunk, and no memory is held in
    // reserve.
    if (rest.length <= chunk.length) {
      this.storage = NOTHING;
      this.used = 0;
      return rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    }
    if (this.storage.length - this.used < chunk.length) this.grow(rest, chunk.length);
    chunk.copy(this.storage, this.used);
    this.used += chunk.length;
    return this.storage.subarray(this.used - chunk.length - rest.length, this.used);
  }

  private grow(rest: Buffer, more: number): void {
    this.storage = Buffer.allocUnsafe(Math.max(FIRST_BYTES, 2 * (rest.length + more)));
    this.used = rest.copy(this.storage);
  }
}

/**
 * One record of CSV (RFC 4180) with its line break, safe to open in a spreadsheet: what would be computed there gets
 * an apostrophe before it.
 */
export function csvRecord(cells: readonly (string | number)[]): string {
  return `${cells.map(cell).join(',')}\r\n`;
}

function cell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const inside = value.replace(FORMULA_INSIDE, "$1'");
  const safe = FORMULA.test(inside) ? `'${inside}` : inside;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
