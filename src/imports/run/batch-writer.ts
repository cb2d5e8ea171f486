/**
 * Group commit: the jobs that run in this process share one statement per batch and import.
 *
 * A batch leaves as soon as a place is free; what arrives meanwhile makes the next one, so a lone job does not linger. Right
 * after a batch of several the next waits a few milliseconds to fill, as the jobs that follow come in small groups and a
 * statement costs the same for one as for fifty. The worker's concurrency bounds batches and is the back-pressure.
 * Guarantee: a job's promise settles after the commit that decided it; an item that two jobs bring is written once. A fault
 * of the connection is tried again until it passes. A row that PostgreSQL refuses fails alone, found by halving the batch; so
 * do rows that are not written for a reason that nobody knows, after a few tries: no fault of ours holds an import up.
 * If we die here the statement is undone or was whole; the jobs' locks run out and the jobs come again.
 */

/** What became of one job. */
export type Outcome =
  /** Its item is settled, by this batch or one before, or the import does not run: nothing is left to do. */
  | 'done'
  /** Its item holds a sealed password that must be hashed first. */
  | 'needs-hash';

/** What the writer asks of the database; given so that tests can make it fail. */
export interface BatchStore {
  /**
   * Settles what it can; answers the ordinals that still hold a sealed password.
   * @param ordinals ascending, each once
   * @throws BatchFault
   */
  write(importId: string, ordinals: number[]): Promise<number[]>;
  /** Fails one item that cannot be written, because of the fault. */
  poison(importId: string, ordinal: number, fault: BatchFault): Promise<void>;
}

/** Of the import, of the connection, of a row, or nobody knows: an error of this program, for one. */
export type FaultOfBatch = 'not-running' | 'retry' | 'data' | 'other';

/** Why a batch did not go through, so that the writer knows what to do next. */
export class BatchFault extends Error {
  readonly kind: FaultOfBatch;
  constructor(kind: FaultOfBatch, cause: unknown) {
    super(`the batch was not written: ${kind}`, { cause });
    this.kind = kind;
  }
}

export interface BatchWriterSettings {
  /** Most items in one statement. */
  maxBatch: number;
  /** Statements under way at once, over all imports. */
  maxFlushes: number;
  /** Statements under way at once for one import; its row's lock lets only one commit at a time. */
  maxFlushesPerImport: number;
  /** After a batch of several, the next one leaves with this many items or this long after its first. */
  fill: { items: number; ms: number };
  /** Waits before a retry: doubles from the first to the last. */
  retryMs: { first: number; last: number };
  onFault?: (fault: BatchFault) => void;
}

export interface BatchWriter {
  add(importId: string, ordinal: number): Promise<Outcome>;
  /** No further retries: what cannot be written now is rejected, and its job comes again elsewhere. */
  stop(): void;
}

interface Waiting {
  ordinal: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

interface Lane {
  waiting: Waiting[];
  flushes: number;
  /** Runs while `waiting` may still fill. */
  filling: NodeJS.Timeout | undefined;
  /** The filling is over: what waits leaves as it is. */
  filled: boolean;
}

/** How often a batch is tried that fails for a reason that nobody knows, before it is halved. */
const TRIES = 5;
/** Jobs of a running import follow a batch within this time, in milliseconds. */
const BUSY_MS = 50;

export function createBatchWriter(store: BatchStore, settings: BatchWriterSettings): BatchWriter {
  const lanes = new Map<string, Lane>();
  let flushes = 0;
  let stopped = false;
  let scheduled = false;
  /** Until then, in milliseconds, more jobs are likely to come: the last batch held several. */
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
    for (const [importId, lane] of lanes) {
      while (lane.waiting.length > 0 && lane.flushes < settings.maxFlushesPerImport) {
        if (flushes >= settings.maxFlushes) return;
        if (isFilling(lane)) break;
        const batch = lane.waiting.splice(0, settings.maxBatch);
        lane.filled = false;
        lane.flushes++;
        flushes++;
        void flush(importId, batch).finally(() => {
          lane.flushes--;
          flushes--;
          if (batch.length > 1) busyUntil = performance.now() + BUSY_MS;
          // To the end of the line, so that imports take turns.
          lanes.delete(importId);
          if (lane.waiting.length > 0 || lane.flushes > 0) lanes.set(importId, lane);
          schedule();
        });
      }
    }
  }

  /** Whether the lane's next batch had better wait for more. */
  function isFilling(lane: Lane): boolean {
    if (lane.filled || stopped || lane.waiting.length >= settings.fill.items || performance.now() > busyUntil) {
      clearTimeout(lane.filling);
      lane.filling = undefined;
      return false;
    }
    lane.filling ??= setTimeout(() => {
      lane.filling = undefined;
      lane.filled = true;
      pump();
    }, settings.fill.ms);
    return true;
  }

  /** @param tries for faults that nobody knows */
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
      // A job whose lock was lost may come to the same worker again, while its first run still waits here.
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
    add(importId, ordinal) {
      return new Promise((resolve, reject) => {
        let lane = lanes.get(importId);
        if (!lane) {
          lane = { waiting: [], flushes: 0, filling: undefined, filled: false };
          lanes.set(importId, lane);
        }
        lane.waiting.push({ ordinal, resolve, reject });
        schedule();
      });
    },
    stop() {
      stopped = true;
    },
  };
}
