/**
 * Index of the hashes of one file, looked up for the users of another: holds millions of them in bounded memory.
 *
 * The records are in an unlinked temporary file that only its owner can read and that disappears with the process. Memory
 * holds only each key's fingerprint and the position of its record: some 40 bytes per key. If a key is repeated, the last
 * record wins.
 */
import { readSync } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fields } from './source.ts';

export interface HashIndex {
  /** @param keys each of them finds the record; the first one identifies it */
  add(keys: readonly string[], record: Fields): Promise<void>;
  /** Call it once, before the first `find`. */
  finish(): Promise<void>;
  /** The record of the first key that has one; the record then counts as used. */
  find(keys: readonly string[]): Fields | undefined;
  /** Number of records in the index, and of those that were never looked up. */
  count(): { records: number; unused: number };
  close(): Promise<void>;
}

const FIRST_SLOTS = 2 ** 12;
/** The largest share of slots in use. */
const FULL = 0.5;

export async function openHashIndex(): Promise<HashIndex> {
  const tempJoin = new TempJoin(await namelessFile());
  let slots = newSlots(FIRST_SLOTS);
  let keyCount = 0;
  let records = 0;
  let used = 0;

  return {
    async add(keys, record) {
      const offset = tempJoin.size;
      const length = await tempJoin.add(JSON.stringify([keys, record]));
      for (const [i, key] of keys.entries()) {
        if (keyCount >= slots.low.length * FULL) slots = grown(slots);
        // Two keys share a fingerprint with a chance of 1 in 2^64; `find` compares the record's own keys.
        const isNew = put(slots, fingerprint(key), offset, length);
        if (isNew) keyCount++;
        if (isNew && i === 0) records++;
      }
    },
    finish: () => tempJoin.finish(),
    find(candidates) {
      for (const key of candidates) {
        const slot = slotOf(slots, fingerprint(key));
        const length = slots.length[slot] as number;
        if (length === 0) continue;
        const text = tempJoin.read(slots.offset[slot] as number, length);
        const [keys, record] = JSON.parse(text) as [keys: string[], record: Fields];
        if (!keys.includes(key)) continue;
        const first = slotOf(slots, fingerprint(keys[0] as string));
        if (slots.taken[first] === 0) used++;
        slots.taken[first] = 1;
        return record;
      }
      return undefined;
    },
    count: () => ({ records, unused: records - used }),
    close: () => tempJoin.close(),
  };
}

interface Slots {
  low: Uint32Array;
  high: Uint32Array;
  offset: Float64Array;
  /** 0: the slot is free. */
  length: Uint32Array;
  taken: Uint8Array;
}

function newSlots(count: number): Slots {
  return {
    low: new Uint32Array(count),
    high: new Uint32Array(count),
    offset: new Float64Array(count),
    length: new Uint32Array(count),
    taken: new Uint8Array(count),
  };
}

function grown(old: Slots): Slots {
  const slots = newSlots(2 * old.low.length);
  for (let i = 0; i < old.low.length; i++) {
    if (old.length[i] === 0) continue;
    const print = { low: old.low[i] as number, high: old.high[i] as number };
    put(slots, print, old.offset[i] as number, old.length[i] as number);
  }
  return slots;
}

interface Fingerprint {
  low: number;
  high: number;
}

/** Returns whether the key is new. */
function put(slots: Slots, print: Fingerprint, offset: number, length: number): boolean {
  const slot = slotOf(slots, print);
  const isNew = slots.length[slot] === 0;
  slots.low[slot] = print.low;
  slots.high[slot] = print.high;
  slots.offset[slot] = offset;
  slots.length[slot] = length;
  return isNew;
}

/** Where the fingerprint is, or the free slot where it would be. */
function slotOf(slots: Slots, { low, high }: Fingerprint): number {
  const mask = slots.low.length - 1;
  let slot = low & mask;
  while (slots.length[slot] !== 0 && (slots.low[slot] !== low || slots.high[slot] !== high)) slot = (slot + 1) & mask;
  return slot;
}

/** Two independent 32-bit hashes (FNV-1a and a multiplicative one, each with the finaliser of MurmurHash3). */
function fingerprint(key: string): Fingerprint {
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (let i = 0; i < key.length; i++) {
    const c = key.charCodeAt(i);
    a = Math.imul(a ^ c, 0x01000193);
    b = Math.imul(b, 31) + c;
  }
  return { low: mix(a) >>> 0, high: mix(b) >>> 0 };
}

function mix(hash: number): number {
  const first = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35);
  return second ^ (second >>> 16);
}

const FLUSH_BYTES = 2 ** 20;
/** What is read at once. A jump over fewer bytes counts as near. */
const WINDOW_BYTES = 2 ** 16;
/** The most bytes of one UTF-16 code unit in UTF-8. */
const MOST_BYTES = 3;

/**
 * Records in an unlinked temporary file. Records that lie near the one before are read together: users and their hashes
 * often come in the same order, or in the opposite one. Any other record costs one small read.
 */
class TempJoin {
  /** Where the next record begins. */
  size = 0;
  private readonly file: FileHandle;
  private pending: Buffer = Buffer.allocUnsafe(FLUSH_BYTES);
  private filled = 0;
  private window: Buffer = Buffer.alloc(0);
  private windowAt = 0;
  private last = 0;

  /** @param file empty, and closed by `close` */
  constructor(file: FileHandle) {
    this.file = file;
  }

  /** Returns how many bytes the record has. */
  async add(text: string): Promise<number> {
    const most = text.length * MOST_BYTES;
    if (this.filled + most > this.pending.length) await this.flush();
    if (most > this.pending.length) this.pending = Buffer.allocUnsafe(most);
    const written = this.pending.write(text, this.filled);
    this.filled += written;
    this.size += written;
    return written;
  }

  /** Call it once, before the first `read`. */
  async finish(): Promise<void> {
    await this.flush();
    this.pending = Buffer.alloc(0);
  }

  read(offset: number, length: number): string {
    const isNear = Math.abs(offset - this.last) < WINDOW_BYTES && length <= WINDOW_BYTES / 2;
    const isForwards = offset >= this.last;
    this.last = offset;
    if (offset < this.windowAt || offset + length > this.windowAt + this.window.length) {
      if (!isNear) return this.take(offset, length).toString('utf8');
      this.windowAt = isForwards ? offset : Math.max(0, offset + length - WINDOW_BYTES);
      this.window = this.take(this.windowAt, WINDOW_BYTES);
    }
    return this.window.toString('utf8', offset - this.windowAt, offset - this.windowAt + length);
  }

  close(): Promise<void> {
    return this.file.close();
  }

  private async flush(): Promise<void> {
    await this.file.appendFile(this.pending.subarray(0, this.filled));
    this.filled = 0;
  }

  private take(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    // Mostly served from the system's cache: a promise would cost more than the read.
    return bytes.subarray(0, readSync(this.file.fd, bytes, 0, length, offset));
  }
}

async function namelessFile(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-'));
  const file = await open(join(folder, 'hashes'), 'wx+', 0o600);
  await rm(folder, { recursive: true });
  return file;
}
