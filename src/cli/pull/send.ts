/**
 * Sends batches as imports, one after the other, while the next batch is read.
 *
 * Guarantee: at most two batches are in memory. The cursor in the state moves only when the users before it are stored
 * and their import has ended.
 * On crash: the import whose users are stored continues at the service; the next run waits for it and continues.
 */
import { randomUUID } from 'node:crypto';
import { type Group, openGroups } from '../../sources/summary.ts';
import { reasonsOf } from '../import/failures.ts';
import { openPlaces } from '../import/places.ts';
import { upload } from '../import/upload.ts';
import { follow } from '../imports/follow.ts';
import { exitCodeFor, type ImportResult } from '../imports/import-result.ts';
import { itemPages } from '../imports/item-pages.ts';
import { type Counts, counted, countsText } from '../imports/progress.ts';
import type { Session } from '../service/session.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { type Batch, conversionOf } from './batch.ts';
import type { Sent } from './sent.ts';

export interface SendOptions {
  query: Record<string, string | undefined>;
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

export function openSender({ api, out }: Pick<Session, 'api' | 'out'>, options: SendOptions): Sender {
  const counts: Counts = {
    total: 0,
    pending: 0,
    succeeded: 0,
    skipped: 0,
    failed: 0,
    timedOut: 0,
    cancelled: 0,
    undone: 0,
  };
  const failures = openGroups();
  let running: Promise<void> = Promise.resolve();

  async function sendOne(batch: Batch): Promise<void> {
    if (batch.users.length === 0) return options.done(batch, undefined);
    const places = openPlaces();
    const again = (why: string, seconds: number) => out.note(`${why} Sending the users again in ${seconds} s.`);
    const conversion = conversionOf(batch);
    const { importId } = await upload(
      api,
      { conversion, places, query: options.query, idempotencyKey: randomUUID() },
      { again },
    );
    await options.accepted(importId);
    const result = await awaitImport({ api, out }, importId, options.signal);
    const failed = new Set<number>();
    for (const [index, reasons] of await failedItems(result)) {
      failed.add(index);
      const place = places.at(index) ?? { file: options.title, line: index };
      for (const { id, message } of reasons) failures.add(id, message, place);
    }
    for (const name of Object.keys(counts) as (keyof Counts)[]) counts[name] += result.counts[name];
    await options.sent?.add(batch.prints.filter((_, i) => !failed.has(i)));
    out.note(`Import ${importId}: ${countsText(result.counts)} (${counted(batch.read, 'user')} read).`);
    await options.done(batch, importId);
  }

  async function failedItems({ importId, counts: { failed } }: ImportResult) {
    const found: [index: number, reasons: ReturnType<typeof reasonsOf>][] = [];
    if (failed === 0) return found;
    for await (const { items } of itemPages(api, importId, { state: 'ITEM_STATE_FAILED' }, failed)) {
      for (const item of items) found.push([item.index, reasonsOf(item)]);
    }
    return found;
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
