/**
 * Converts the pages of an old system, and sends their users in batches, each as an import, one after the other, while
 * the next batch is read. Users that have not changed since they were sent are left out.
 *
 * Guarantee: at most two batches are in memory, and some 32 bytes for each user that was sent. The cursor in the state
 * moves only when the users before it are stored and their import has ended. The file of what was sent contains no data
 * of users.
 * On crash: the import whose users are stored continues at the service; the next run waits for it and continues.
 */
import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Query } from '../../contract/client.ts';
import { type Conversion, type Outcome, type RecordJob, recordConverter } from '../../sources/convert.ts';
import type { Entry } from '../../sources/entry.ts';
import type { RecordPage } from '../../sources/pull/system.ts';
import type { Convert } from '../../sources/source.ts';
import { type Group, openGroups } from '../../sources/summary.ts';
import { follow } from '../follow/follow.ts';
import { type Counts, counted, countsText } from '../follow/progress.ts';
import { exitCodeFor, type ImportResult } from '../follow/result.ts';
import { failedItems, openPlaces, reasonsOf } from '../import/read.ts';
import { upload } from '../import/upload.ts';
import type { Session } from '../service/session.ts';
import { EXIT, Failure } from '../terminal/failure.ts';

export interface SendOptions {
  query: Query<'importUsers'>;
  title: string;
  signal: AbortSignal;
  /** Gets the fingerprints of the users that did not fail; undefined in a dry run. */
  sent: Sent | undefined;
  /** The users are stored by the service. */
  accepted(importId: string): Promise<void>;
  /** Every user of the batch has its result. */
  done(batch: Batch, importId: string | undefined): Promise<void>;
}

export interface Sender {
  /** Returns when the batch before has ended; this one is on its way. @throws Failure */
  send(batch: Batch): Promise<void>;
  /** Returns when all have ended. @throws Failure */
  finish(): Promise<void>;
  totals(): { counts: Counts; failures: Group[] };
}

/** Sends batches; `send` returns while its batch is on its way. */
export function openSender({ api, out }: Pick<Session, 'api' | 'out'>, options: SendOptions): Sender {
  const counts = noCounts();
  const failures = openGroups();
  let running: Promise<void> = Promise.resolve();

  async function sendOne(batch: Batch): Promise<void> {
    if (batch.users.length === 0) return options.done(batch, undefined);
    const places = openPlaces();
    const again = (why: string, seconds: number) => out.note(`${why} Sending the users again in ${seconds} s.`);
    const job = { conversion: conversionOf(batch), places, query: options.query, idempotencyKey: randomUUID() };
    const { importId } = await upload(api, job, { again });
    await options.accepted(importId);
    const result = await awaitImport({ api, out }, importId, options.signal);
    const failed = new Set<number>();
    for await (const item of failedItems(api, importId, result.counts.failed)) {
      failed.add(item.index);
      const place = places.at(item.index) ?? { file: options.title, line: item.index };
      for (const { id, message } of reasonsOf(item)) failures.add(id, message, place);
    }
    for (const name of Object.keys(counts) as (keyof Counts)[]) counts[name] += result.counts[name];
    await options.sent?.add(batch.prints.filter((_, i) => !failed.has(i)));
    out.note(`Import ${importId}: ${countsText(result.counts)} (${counted(batch.read, 'user')} read).`);
    await options.done(batch, importId);
  }

  return {
    async send(batch) {
      await running;
      running = sendOne(batch);
      // Awaited by the next call; until then a failure must not count as unhandled.
      running.catch(() => {});
    },
    finish: () => running,
    totals: () => ({ counts, failures: failures.list() }),
  };
}

function noCounts(): Counts {
  return { total: 0, pending: 0, succeeded: 0, skipped: 0, failed: 0, timedOut: 0, cancelled: 0, undone: 0 };
}

/** Waits for the end of an import. @throws Failure when it was stopped before its end */
export async function awaitImport(
  { api, out }: Pick<Session, 'api' | 'out'>,
  importId: string,
  signal: AbortSignal,
): Promise<ImportResult> {
  const result = await follow(api, importId, {
    signal,
    onProgress: () => {},
    onLost: ({ message }) => out.note(`  ${message} Trying again …`),
  });
  if (exitCodeFor(result) !== EXIT.stopped) return result;
  throw new Failure(`Import ${importId} was stopped before its end: ${countsText(result.counts)}.`, {
    exitCode: EXIT.stopped,
    advice: 'Run the same command again: it sends the users that are missing.',
  });
}

/** Users that become one import. */
export interface Batch {
  /** Outcomes with an entry. */
  users: Outcome[];
  prints: Fingerprint[];
  /** Reading continues here once they are stored. */
  cursor: string | undefined;
  /** Users read in this run up to the cursor. */
  read: number;
}

export interface Collector {
  /** Adds a page; `seen` gets every outcome, also of users that have not changed. */
  add(page: RecordPage, seen: (outcome: Outcome) => void): void;
  readonly size: number;
  /** The batch so far; the next one begins. */
  take(): Batch;
}

export interface CollectOptions extends RecordJob {
  /** The converter, if all records were surveyed. */
  convert?: Convert | undefined;
  /** The system's name, for messages about its records. */
  title: string;
  /** Users whose entry was sent before are left out; undefined: none is. */
  sent: Sent | undefined;
  /** Users read by earlier attempts of this run. */
  read: number;
  cursor: string | undefined;
}

/** Converts pages, and collects the users to send in batches of bounded size. */
export function openCollector({ title, sent, read, cursor, convert: surveyed, ...job }: CollectOptions): Collector {
  const convert = recordConverter(job, surveyed);
  const empty = (): Pick<Batch, 'users' | 'prints'> => ({ users: [], prints: [] });
  let batch = empty();
  let number = read;
  let reached = cursor;
  return {
    add(page, seen) {
      for (const record of page.records) {
        const outcome: Outcome = { file: title, line: ++number, ...convert(record) };
        seen(outcome);
        if (!outcome.entry) continue;
        const print = fingerprintOf(outcome.entry);
        if (sent?.has(print)) continue;
        batch.users.push(outcome);
        batch.prints.push(print);
      }
      reached = page.cursor;
    },
    get size() {
      return batch.users.length;
    },
    take() {
      const taken = { ...batch, cursor: reached, read: number };
      batch = empty();
      return taken;
    },
  };
}

/** The batch as the body of an import. */
function conversionOf({ users }: Batch): Conversion {
  return {
    async *outcomes() {
      yield users;
    },
    unusedHashes: () => 0,
    close: async () => {},
  };
}

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

/**
 * What was sent: for each user 16 bytes, a fingerprint of the id and one of the entry, in a file that only grows. The
 * last fingerprint of a user counts. Reads the file, or creates it.
 * On crash: a record that was cut off is dropped when the file is read; its user is sent again.
 * @throws Error of the file system
 */
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

/** Recognizes a user and the entry that was sent for them. */
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

/** A hash table with open addressing; a `Map` of so many bigints takes five times the memory. */
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
