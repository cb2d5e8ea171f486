/**
 * What batched calls share on both stores: collecting calls, choosing jobs that one call may add, and recognizing the code
 * of BullMQ that a batched call replaces.
 *
 * Guarantee: calls are batched only if BullMQ's script or functions have a digest of DIGESTS. After an upgrade of BullMQ
 * the tests of this folder fail, and a process logs one warning and stops batching: compare the new text with
 * redis-add.lua, redis-finish.lua, postgres-add.sql, postgres-claim.sql and postgres-complete.sql, adapt these, and put the
 * new digest here.
 */
import { createHash } from 'node:crypto';
import type { IQueueBackend } from 'bullmq';
import type { Db } from '../../platform/db/pool.ts';

export interface Gathering<Call> {
  /** Calls in one statement. */
  mostAtOnce: number;
  /** Statements in progress; further calls wait, and then share the next statement. */
  mostStatements: number;
  /** Settles each call; never rejects. */
  send(calls: Call[]): Promise<void>;
}

/**
 * Returns a function that collects the calls of one turn of the event loop, to send them together: a batch of users ends
 * in one turn, and so do their jobs.
 */
export function gather<Call>({ mostAtOnce, mostStatements, send }: Gathering<Call>): (call: Call) => void {
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

export type AddJobs = IQueueBackend['addJobs'];
export type Addition = Parameters<AddJobs>[0][number];

/**
 * Whether batched calls may add all of these jobs: each has an id of its own, no option but `jobId` and those of `options`,
 * and neither a parent, a schedule nor deduplication.
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

/**
 * Splits jobs, in their order, into chunks of at most `most`; the jobs of a chunk have the same name and the same values of
 * `options`.
 */
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

/** What BullMQ 6.7 has: the first 16 hexadecimal digits of SHA-256. */
export const DIGESTS = {
  addStandardJob: '2eee45c9ffc54d24',
  moveToFinished: '8e744ec5d65dbe9e',
  /** The functions of `FUNCTIONS.fetch` as PostgreSQL stores them, then the columns of the table `job`. */
  fetch: '6c85ebeda5f0aaed',
  /** The functions of `FUNCTIONS.add`, then the columns of the table `job`. */
  add: 'c136ba1837455191',
} as const;

/** The functions of schema `bullmq` that fetch and complete jobs, or add them, in the order of the digest. */
const FUNCTIONS = {
  fetch: [
    'move_to_completed_fetch',
    'move_to_completed',
    'move_to_active',
    'next_signal',
    'rate_limit_effective',
    'apply_retention',
    'publish_event',
    'lock_finalization_queues',
    'dedup_finalize',
    'requeue_dedup_next',
  ],
  add: ['add_jobs_bulk', 'add_jobs_bulk_unlocked', 'lock_producer_queues'],
} as const;

/** Reads the sources of functions, and the columns of `job`, which postgres-fetch.ts turns into jobs. */
const READ_PARTS = `
select text from (
  select 1 as part, array_position($1, proname::text) as place, prosrc as text
  from pg_proc where pronamespace = 'bullmq'::regnamespace and proname = any($1)
  union all
  select 2, attnum, attname::text
  from pg_attribute where attrelid = 'bullmq.job'::regclass and attnum > 0 and not attisdropped
) as parts order by part, place`;

/** @param name `moveToFinished` or `addStandardJob` */
export function isKnownScript(name: 'addStandardJob' | 'moveToFinished', text: string): boolean {
  return DIGESTS[name] === digestOf(text);
}

/**
 * Whether the database has the functions that the statements for this work were written for.
 * @throws when it cannot be read
 */
export async function hasKnownFunctions(db: Db, work: keyof typeof FUNCTIONS): Promise<boolean> {
  const { rows } = await db.query<{ text: string }>({ text: READ_PARTS, values: [FUNCTIONS[work]] });
  return digestOf(...rows.map(({ text }) => text)) === DIGESTS[work];
}

/** Returns a function that asks `hasKnownFunctions` once, and again after an error; `onUnknown` is called if it is false. */
export function askOnce(
  db: Db,
  work: keyof typeof FUNCTIONS,
  backend: IQueueBackend,
  onUnknown: () => void,
): () => Promise<boolean> {
  let answer: Promise<boolean> | undefined;
  async function ask(): Promise<boolean> {
    await backend.waitUntilReady(); // creates BullMQ's functions
    const isKnown = await hasKnownFunctions(db, work);
    if (!isKnown) onUnknown();
    return isKnown;
  }
  return () => {
    answer ??= ask().catch((error) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
}

function digestOf(...texts: string[]): string {
  const digest = createHash('sha256');
  for (const text of texts) digest.update(text);
  return digest.digest('hex').slice(0, 16);
}
