import { createHash } from 'node:crypto';
import type { IQueueBackend } from 'bullmq';
import type { Db } from '../../platform/db/pool.ts';
/** Jobs that are added together: which of them one call may add, on either backend. */

export type AddJobs = IQueueBackend['addJobs'];
export type Addition = Parameters<AddJobs>[0][number];

/**
 * Whether shared calls may add all of them: each has an id of its own, no option but `jobId` and those of `options`, and
 * neither a parent, a schedule nor deduplication.
 */
export function areSimple(entries: Addition[], options: ReadonlySet<string>): boolean {
  return entries.every((entry) => isSimple(entry, options)) && haveOwnIds(entries);
}

function isSimple({ job, jobId, parentKeyOpts }: Addition, known: ReadonlySet<string>): boolean {
  if (!jobId || job.parent || job.parentKey || job.repeatJobKey || job.deduplicationId) return false;
  if (parentKeyOpts?.parentDependenciesKey || parentKeyOpts?.addToWaitingChildren) return false;
  const options = job.opts as Record<string, unknown>;
  for (const option of Object.keys(options)) {
    if (options[option] !== undefined && option !== 'jobId' && !known.has(option)) return false;
  }
  return true;
}

function haveOwnIds(entries: Addition[]): boolean {
  return new Set(entries.map(({ jobId }) => jobId)).size === entries.length;
}

/** In their order, at most `most` in a chunk; the jobs of a chunk have the same name and the same values of `options`. */
export function chunksOf(entries: Addition[], most: number, options: ReadonlySet<string>): Addition[][] {
  const chunks: Addition[][] = [];
  let chunk: Addition[] = [];
  for (const entry of entries) {
    const first = chunk[0];
    if (!first || chunk.length === most || !areAlike(first, entry, options)) {
      chunk = [];
      chunks.push(chunk);
    }
    chunk.push(entry);
  }
  return chunks;
}

function areAlike({ job: one }: Addition, { job: other }: Addition, options: ReadonlySet<string>): boolean {
  if (one.name !== other.name) return false;
  for (const option of options) {
    if (optionOf(one, option) !== optionOf(other, option)) return false;
  }
  return true;
}

function optionOf({ opts }: Addition['job'], option: string): unknown {
  return (opts as Record<string, unknown>)[option];
}

/** Calls of one statement that are made at the same moment, so that they can share a statement. */

/** A call of a pool's `query` that waits for its answer. */
export interface Call {
  text: string;
  values: readonly unknown[];
  resolve(result: { rows: unknown[] }): void;
  reject(error: unknown): void;
}

export type Row = Record<string, unknown>;
export type RunQuery = (query: unknown, values?: readonly unknown[]) => Promise<{ rows: Row[] }>;

export interface Gathering {
  /** Calls in one statement. */
  mostAtOnce: number;
  /** Statements in progress; further calls wait, and then share the next one. */
  mostStatements: number;
  /** Settles each call; never rejects. */
  send(calls: Call[]): Promise<void>;
}

/**
 * Returns a function that takes a call and sends it with those of the same turn of the event loop: a batch of users ends
 * in one turn, and so do their jobs.
 */
export function gather({ mostAtOnce, mostStatements, send }: Gathering): (call: Call) => void {
  const waiting: Call[] = [];
  let underWay = 0;
  let isDue = false;

  function next(): void {
    isDue = false;
    while (underWay < mostStatements && waiting.length > 0) {
      underWay++;
      void send(waiting.splice(0, mostAtOnce)).finally(() => {
        underWay--;
        next();
      });
    }
  }

  return (call) => {
    waiting.push(call);
    if (isDue) return;
    isDue = true;
    setImmediate(next);
  };
}

/** Sends a call as it is. */
export async function alone(run: RunQuery, { text, values, resolve, reject }: Call): Promise<void> {
  await run(text, values).then(resolve, reject);
}

/**
 * Gives each call its job from the rows of a shared statement, whose `ord` is the number of the call; none if it has no row.
 * Returns false, and settles none, if the statement did not apply: its first row says so.
 */
export function answer(calls: Call[], rows: Row[]): boolean {
  if (!rows[0]?.holds) return false;
  const jobs = new Map(rows.map(({ holds, ord, ...job }) => [Number(ord), job]));
  for (const [i, { resolve }] of calls.entries()) {
    const job = jobs.get(i + 1);
    resolve({ rows: job ? [job] : [] });
  }
  return true;
}

/**
 * The BullMQ scripts that the batched calls replace, and the digests of the versions that they were written for.
 *
 * Calls are batched only if the script or function that is actually loaded has a digest of this list. After an upgrade
 * of BullMQ the tests of this folder fail and workers log one warning and stop batching: compare the new text with
 * redis-add.lua, redis-finish.lua, postgres-add.sql or postgres-complete.sql, adapt these, and put the new digest here.
 */

/** Of BullMQ 6.7; the first 16 hexadecimal digits of SHA-256. */
export const DIGESTS = {
  addStandardJob: '2eee45c9ffc54d24',
  moveToFinished: '8e744ec5d65dbe9e',
  /** All functions of `FUNCTIONS.complete` together, as PostgreSQL stores them. */
  complete: '1b14705a34c5918c',
  add: '62aab757f0460579',
} as const;

/** The functions of schema `bullmq` that complete a job and hand out the next one, or add jobs, in the order of the digest. */
const FUNCTIONS = {
  complete: [
    'move_to_completed_fetch',
    'move_to_completed',
    'move_to_active',
    'apply_retention',
    'publish_event',
    'lock_finalization_queues',
    'dedup_finalize',
    'requeue_dedup_next',
  ],
  add: ['add_jobs_bulk'],
} as const;

/** @param name `moveToFinished` or `addStandardJob`, with or without BullMQ's version suffix */
export function isKnownScript(name: string, text: string): boolean {
  const digest = new Map<string, string>(Object.entries(DIGESTS)).get(name.split(':')[0] as string);
  return digest === digestOf(text);
}

/**
 * Whether the database has the functions that postgres-complete.sql or postgres-add.sql was written for.
 * @throws when it cannot be read
 */
export async function hasKnownFunctions(db: Db, work: keyof typeof FUNCTIONS): Promise<boolean> {
  const { rows } = await db.query<{ prosrc: string }>({
    text: `select prosrc from pg_proc where pronamespace = 'bullmq'::regnamespace and proname = any($1)
     order by array_position($1, proname::text)`,
    values: [FUNCTIONS[work]],
  });
  return digestOf(...rows.map(({ prosrc }) => prosrc)) === DIGESTS[work];
}

function digestOf(...texts: string[]): string {
  const digest = createHash('sha256');
  for (const text of texts) digest.update(text);
  return digest.digest('hex').slice(0, 16);
}
