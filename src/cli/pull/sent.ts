/**
 * What was sent, to recognize users that have not changed since: for each user 16 bytes, a fingerprint of the id and
 * one of the entry, in a file that only grows. The last fingerprint of a user counts.
 *
 * Guarantee: memory takes some 32 bytes for each user. The file contains no data of users.
 * On crash: a record that was cut off is dropped when the file is read; its user is sent again.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Entry } from '../../sources/entry.ts';

const BYTES = 16;
const CHUNK = BYTES * 65_536;
const FIRST_SLOTS = 2 ** 12;
const FULL = 0.5;

export interface Fingerprint {
  id: bigint;
  entry: bigint;
}

export interface Sent {
  readonly size: number;
  /** Whether the same entry was sent before. */
  has(print: Fingerprint): boolean;
  /** @throws Error of the file system */
  add(prints: readonly Fingerprint[]): Promise<void>;
  close(): Promise<void>;
}

export function fingerprintOf(entry: Entry): Fingerprint {
  const { userId, user, orgId } = entry;
  const id = JSON.stringify([orgId, userId ?? null, userId === undefined ? (user.userName ?? user.email.email) : null]);
  return { id: hashOf(id), entry: hashOf(JSON.stringify(entry)) };
}

function hashOf(text: string): bigint {
  const hash = createHash('sha256').update(text).digest().readBigUInt64LE();
  // Zero marks a free slot.
  return hash === 0n ? 1n : hash;
}

/** Reads the file, or creates it. @throws Error of the file system */
export async function openSent(path: string): Promise<Sent> {
  const file = await open(path, 'a+', 0o600);
  const table = new Table();
  try {
    let end = 0;
    for await (const [id, entry] of records(file)) {
      table.set(id, entry);
      end += BYTES;
    }
    await file.truncate(end);
  } catch (error) {
    await file.close();
    throw error;
  }
  return {
    get size() {
      return table.count;
    },
    has: ({ id, entry }) => table.get(id) === entry,
    async add(prints) {
      const bytes = Buffer.alloc(prints.length * BYTES);
      for (const [i, { id, entry }] of prints.entries()) {
        bytes.writeBigUInt64LE(id, i * BYTES);
        bytes.writeBigUInt64LE(entry, i * BYTES + 8);
      }
      await file.appendFile(bytes);
      await file.sync();
      for (const { id, entry } of prints) table.set(id, entry);
    },
    close: () => file.close(),
  };
}

async function* records(file: FileHandle): AsyncGenerator<[id: bigint, entry: bigint]> {
  const buffer = Buffer.alloc(CHUNK);
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK, at);
    const whole = bytesRead - (bytesRead % BYTES);
    for (let i = 0; i < whole; i += BYTES) yield [buffer.readBigUInt64LE(i), buffer.readBigUInt64LE(i + 8)];
    if (whole === 0) return;
    at += whole;
  }
}

/** Open addressing; a `Map` of so many bigints takes five times the memory. */
class Table {
  count = 0;
  private ids = new BigUint64Array(FIRST_SLOTS);
  private entries = new BigUint64Array(FIRST_SLOTS);

  get(id: bigint): bigint | undefined {
    const slot = this.slotOf(id);
    return this.ids[slot] === 0n ? undefined : this.entries[slot];
  }

  set(id: bigint, entry: bigint): void {
    if (this.count >= this.ids.length * FULL) this.grow();
    const slot = this.slotOf(id);
    if (this.ids[slot] === 0n) this.count++;
    this.ids[slot] = id;
    this.entries[slot] = entry;
  }

  private slotOf(id: bigint): number {
    const mask = this.ids.length - 1;
    let slot = Number(id & BigInt(mask));
    while (this.ids[slot] !== 0n && this.ids[slot] !== id) slot = (slot + 1) & mask;
    return slot;
  }

  private grow(): void {
    const { ids, entries } = this;
    this.ids = new BigUint64Array(2 * ids.length);
    this.entries = new BigUint64Array(2 * ids.length);
    this.count = 0;
    for (let i = 0; i < ids.length; i++) if (ids[i] !== 0n) this.set(ids[i] as bigint, entries[i] as bigint);
  }
}
