/**
 * Group commit: the jobs that run in this process (each writes one user) share one SQL statement per batch and import.
 *
 * A batch starts as soon as a slot is free; jobs that arrive meanwhile form the next batch, so a lone job never waits.
 * After a batch of several jobs the next one waits a few milliseconds for more jobs, as these arrive in small groups
 * and a statement costs the same for one item as for fifty. The worker's concurrency limits the size of batches and
 * provides back-pressure. It is not a fair queue (src/platform/fair-queue.ts), because a batch takes all waiting items of
 * an import at once, and waits for more of them though a slot is free.
 * Guarantee: a job's promise settles after the commit that decided its outcome; an item that two jobs bring is written
 * once. Connection errors are retried until they pass. A row that PostgreSQL refuses fails alone, found by halving the
 * batch. So does a row that fails for an unknown reason, after a few attempts: a bug of ours cannot block an import.
 * On crash: the statement is rolled back or was committed; the jobs' locks expire and the jobs are processed again.
 */

/** The outcome of one job. */
export type Outcome =
  /** The item is settled, by this batch or an earlier one, or the import does not run: nothing is left to do. */
  | 'done'
  /** The item has a plain password (stored encrypted) that must be hashed first. */
  | 'needs-hash';

/** What the writer needs of the database; an interface so that tests can make it fail. */
export interface BatchStore {
  /**
   * Settles the items it can; returns the ordinals of those whose plain password must be hashed first.
   * @param ordinals ascending, each once
   * @throws BatchFault
   */
  write(importId: string, ordinals: number[]): Promise<number[]>;
  /** Settles one item that cannot be written as failed, with an error that fits the fault. */
  poison(importId: string, ordinal: number, fault: BatchFault): Promise<void>;
}

/** The import does not run; the connection failed; PostgreSQL refused a row; anything else, such as a bug. */
export type FaultOfBatch = 'not-running' | 'retry' | 'data' | 'other';

/** Why a batch was not written, so that the writer knows what to do next. */
export class BatchFault extends Error {
  readonly kind: FaultOfBatch;
  constructor(kind: FaultOfBatch, cause: unknown) {
    super(`the batch was not written: ${kind}`, { cause });
    this.kind = kind;
  }
}

export interface BatchWriterSettings {
  /** The most items in one statement. */
  maxBatch: number;
  /** The most statements that run at once, over all imports. */
  maxFlushes: number;
  /** The most statements that run at once for one import; the lock on its row lets only one commit at a time. */
  maxFlushesPerImport: number;
  /** After a batch of several items, the next one starts with this many items or this long after its first. */
  fill: { items: number; ms: number };
  /** Delays before a retry: doubled each time, from `first` up to `last`. */
  retryMs: { first: number; last: number };
  onFault?: (fault: BatchFault) => void;
}

export interface BatchWriter {
  /** @param only no other item of this import will come */
  add(importId: string, ordinal: number, only?: boolean): Promise<Outcome>;
  /** Stops retrying: an item that cannot be written now is rejected, and another worker processes its job again. */
  stop(): void;
}

interface Waiting {
  ordinal: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

interface ImportBatch {
  waiting: Waiting[];
  flushes: number;
  /** Set while the import waits for more items. */
  filling: NodeJS.Timeout | undefined;
  /** The time to fill is over: the waiting items are written as they are. */
  filled: boolean;
}

/** How often a batch that fails for an unknown reason is attempted before it is halved. */
const TRIES = 5;
/** After a batch of a running import, its next jobs arrive within this time, in milliseconds. */
const BUSY_MS = 50;

export function createBatchWriter(store: BatchStore, settings: BatchWriterSettings): BatchWriter {
  const importBatches = new Map<string, ImportBatch>();
  let flushes = 0;
  let stopped = false;
  let scheduled = false;
  /** Until this time, in milliseconds, more jobs are likely to come, as the last batch had several items. */
  let busyUntil = 0;

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      pump();
    });
  }

  function pump(): void {
    for (const [importId, importBatch] of importBatches) {
      while (importBatch.waiting.length > 0 && importBatch.flushes < settings.maxFlushesPerImport) {
        if (flushes >= settings.maxFlushes) return;
        if (isFilling(importBatch)) break;
        const batch = importBatch.waiting.splice(0, settings.maxBatch);
        importBatch.filled = false;
        importBatch.flushes++;
        flushes++;
        void flush(importId, batch).finally(() => {
          importBatch.flushes--;
          flushes--;
          if (batch.length > 1) busyUntil = performance.now() + BUSY_MS;
          // The import goes to the end of the line, so that imports take turns.
          importBatches.delete(importId);
          if (importBatch.waiting.length > 0 || importBatch.flushes > 0) importBatches.set(importId, importBatch);
          schedule();
        });
      }
    }
  }

  /** Whether the next batch of the import should wait for more items. */
  function isFilling(importBatch: ImportBatch): boolean {
    if (
      importBatch.filled ||
      stopped ||
      importBatch.waiting.length >= settings.fill.items ||
      performance.now() > busyUntil
    ) {
      clearTimeout(importBatch.filling);
      importBatch.filling = undefined;
      return false;
    }
    importBatch.filling ??= setTimeout(() => {
      importBatch.filling = undefined;
      importBatch.filled = true;
      pump();
    }, settings.fill.ms);
    return true;
  }

  /** @param tries attempts for faults with an unknown reason */
  async function flush(importId: string, batch: Waiting[], tries = TRIES): Promise<void> {
    batch.sort((a, b) => a.ordinal - b.ordinal);
    let left = tries;
    for (let wait = settings.retryMs.first; ; wait = Math.min(wait * 2, settings.retryMs.last)) {
      const fault = await attempt(importId, batch);
      if (!fault) return;
      settings.onFault?.(fault);
      if (fault.kind === 'other') left--;
      if (fault.kind === 'data' || left === 0) return halve(importId, batch, fault);
      if (stopped) return reject(batch, fault);
      await new Promise((resume) => setTimeout(resume, wait));
    }
  }

  async function attempt(importId: string, batch: Waiting[]): Promise<BatchFault | undefined> {
    try {
      // A job that lost its lock may come to the same worker again while its first run still waits here.
      const ordinals = [...new Set(batch.map((w) => w.ordinal))];
      const sealed = new Set(await store.write(importId, ordinals));
      for (const w of batch) w.resolve(sealed.has(w.ordinal) ? 'needs-hash' : 'done');
      return undefined;
    } catch (error) {
      if (!(error instanceof BatchFault)) return new BatchFault('other', error);
      if (error.kind !== 'not-running') return error;
      for (const w of batch) w.resolve('done');
      return undefined;
    }
  }

  async function halve(importId: string, batch: Waiting[], fault: BatchFault): Promise<void> {
    if (batch.length > 1) {
      const middle = batch.length >> 1;
      const tries = fault.kind === 'other' ? 1 : TRIES;
      await flush(importId, batch.slice(0, middle), tries);
      return flush(importId, batch.slice(middle), tries);
    }
    const [one] = batch as [Waiting];
    await store.poison(importId, one.ordinal, fault).then(
      () => one.resolve('done'),
      (error) => one.reject(error),
    );
  }

  function reject(batch: Waiting[], fault: BatchFault): void {
    for (const w of batch) w.reject(fault);
  }

  return {
    add(importId, ordinal, only = false) {
      return new Promise((resolve, reject) => {
        let importBatch = importBatches.get(importId);
        if (!importBatch) {
          importBatch = { waiting: [], flushes: 0, filling: undefined, filled: false };
          importBatches.set(importId, importBatch);
        }
        if (only) importBatch.filled = true;
        importBatch.waiting.push({ ordinal, resolve, reject });
        schedule();
      });
    },
    stop() {
      stopped = true;
    },
  };
}
