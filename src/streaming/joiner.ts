/**
 * Joins the unfinished end of a buffer with the chunks that follow it.
 *
 * Guarantee: each byte is copied a bounded number of times on average, however small the chunks are; bytes that were
 * returned are never overwritten, so views of them stay valid; memory is bounded by twice the unfinished end plus one
 * chunk.
 */
const FIRST_BYTES = 1024;
const NOTHING: Buffer = Buffer.alloc(0);

export class Joiner {
  /** Where small chunks are collected; it grows by doubling. */
  private storage = NOTHING;
  /** Bytes of `storage` in use. What was returned last ends here. */
  private used = 0;

  /** `rest`, the end of what was returned last, followed by `chunk`. */
  join(rest: Buffer, chunk: Buffer): Buffer {
    if (chunk.length === 0) return rest;
    // Chunks of the usual size: copying the rest costs no more than reading the chunk, and no memory is held in reserve.
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
