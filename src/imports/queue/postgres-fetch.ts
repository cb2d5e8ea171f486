/**
 * Fetches and completes jobs on PostgreSQL in batches.
 *
 * BullMQ fetches each job by one statement and one commit, and completes it by another, which also hands out the next job.
 * Here the calls of one turn of the event loop share a statement (postgres-claim.sql or postgres-complete.sql), as do
 * calls that are made while earlier statements are in progress. Locks, stalls, retries, limits and events stay BullMQ's.
 *
 * Guarantee: each call gets the answer that BullMQ's own call would have got. A call that is alone in its turn is made by
 * BullMQ, and so is each call of a batch for which the shared statement does not apply or fails: one bad job fails alone.
 * On crash: the jobs' locks expire, as they do without batching.
 */
import type { BackendFactory, IQueueBackend, JobJson } from 'bullmq';
import type pg from 'pg';
import type { Db } from '../../platform/db/pool.ts';
import { readStatement } from '../../platform/db/statement.ts';
import { askOnce, gather } from './batching.ts';

const CLAIM = readStatement(new URL('postgres-claim.sql', import.meta.url), {
  parameters: ['queue', 'tokens', 'now', 'lockMs', 'workerName'],
  name: 'claim-batch',
});
const COMPLETE = readStatement(new URL('postgres-complete.sql', import.meta.url), {
  parameters: ['queue', 'ids', 'tokens', 'results', 'now', 'lockMs', 'workerName'],
  name: 'complete-batch',
});

/** Statements in progress: one executes while the other commits. */
const LIMITS = { mostAtOnce: 200, mostStatements: 2 };
/** A batch that could not be completed is sent again in smaller ones, so that few jobs share the fate of a bad one. */
const MOST_IN_RETRY = 32;

type Factory = BackendFactory<IQueueBackend, unknown>;
type Complete = IQueueBackend['moveToCompleted'];
type Completed = Awaited<ReturnType<Complete>>;
/** BullMQ's answer to a fetch: the job and its id, then how long a rate limit lasts, and when the next delayed job is due. */
type NextJob = [job: JobJson | null, id: string, limitedMs: number, delayedUntil: number];

/** The options of a worker that matter here; BullMQ has filled in its defaults. */
interface FetchOptions {
  connection: pg.Pool;
  name?: string;
  lockDuration?: number;
  removeOnComplete?: unknown;
  limiter?: unknown;
  metrics?: unknown;
}

interface Fetch {
  token: string;
  resolve(next: NextJob): void;
  alone(): Promise<void>;
}

interface Completion extends Ending {
  resolve(completed: Completed): void;
  alone(): Promise<void>;
}

/** A completed job, the token of its lock, and its result as JSON. */
export interface Ending {
  id: string;
  token: string;
  result: string;
}

/** What is the same for all jobs of one statement. */
export interface BatchOptions {
  queue: string;
  lockMs: number;
  workerName: string | undefined;
}

/** Where the shared statements of one backend are sent. */
interface Sender {
  pool: pg.Pool;
  common: BatchOptions;
  /** Whether the database has the functions that the statements were written for. */
  isKnown(): Promise<boolean>;
  /** Whether no call may be batched from now on. */
  isOff(): boolean;
}

/**
 * Returns a factory of the same backends, which fetch and complete jobs in batches.
 * @param warn is called when the functions of the database are not those that Muster batches
 */
export function withBatchedFetches(factory: Factory, warn: (reason: string) => void): Factory {
  return (queue, options, ...rest) => {
    const backend = factory(queue, options, ...rest);
    const { connection: pool, name: workerName, lockDuration: lockMs, ...others } = options as unknown as FetchOptions;
    if (!lockMs || others.limiter || others.metrics) return backend;
    let isUnknown = false;
    const isKnown = askOnce(pool as unknown as Db, 'fetch', backend, () => {
      isUnknown = true;
      warn(
        "BullMQ's functions in the database are not the version that Muster batches. Jobs are completed one by one, which is slower.",
      );
    });
    const isOff = () => isUnknown || !!backend.closing;
    const sender: Sender = { pool, common: { queue, lockMs, workerName }, isKnown, isOff };
    batchFetches(backend, sender);
    batchCompletions(backend, sender, others.removeOnComplete);
    return backend;
  };
}

/** Replaces `moveToActive` of the backend. */
function batchFetches(backend: IQueueBackend, sender: Sender): void {
  const plain = backend.moveToActive.bind(backend);
  const add = gather<Fetch>({ ...LIMITS, send: (calls) => claim(sender, calls) });
  backend.moveToActive = (token, name) => {
    if (sender.isOff() || name !== sender.common.workerName) return plain(token, name);
    return new Promise((resolve, reject) => {
      add({ token, resolve, alone: () => plain(token, name).then(resolve, reject) });
    });
  };
}

/** Settles every call. */
async function claim(sender: Sender, calls: Fetch[]): Promise<void> {
  const tokens = calls.map(({ token }) => token);
  const next = await nextJobs(sender, claimBatch(sender.common, tokens, Date.now()), calls.length);
  if (!next) await Promise.all(calls.map(({ alone }) => alone()));
  else for (const [i, { resolve }] of calls.entries()) resolve(next[i] as NextJob);
}

/** Replaces `moveToCompleted` of the backend. */
function batchCompletions(backend: IQueueBackend, sender: Sender, removal: unknown): void {
  const plain = backend.moveToCompleted.bind(backend) as Complete;
  const add = gather<Completion>({ ...LIMITS, send: (calls) => complete(sender, calls) });
  const moveToCompleted: Complete = (...args) => {
    const [{ id }, value, ownRemoval, token, fetchNext] = args;
    // BullMQ takes the token 0 for any lock.
    const isSimple = id && fetchNext && token !== '0' && (ownRemoval ?? removal) === true;
    if (!isSimple || sender.isOff()) return plain(...args);
    return new Promise((resolve, reject) => {
      const result = JSON.stringify(value ?? null) ?? 'null'; // undefined for a function
      add({ id, token, result, resolve, alone: () => plain(...args).then(resolve, reject) });
    });
  };
  backend.moveToCompleted = moveToCompleted;
}

/** Settles every call. */
async function complete(sender: Sender, calls: Completion[]): Promise<void> {
  const now = Date.now();
  const next = await nextJobs(sender, completeBatch(sender.common, calls, now), calls.length);
  if (next) {
    for (const [i, { resolve }] of calls.entries()) resolve({ result: next[i] as NextJob, finishedOn: now });
  } else if (calls.length > MOST_IN_RETRY && !sender.isOff()) {
    for (let from = 0; from < calls.length; from += MOST_IN_RETRY) {
      await complete(sender, calls.slice(from, from + MOST_IN_RETRY));
    }
  } else {
    await Promise.all(calls.map(({ alone }) => alone()));
  }
}

/**
 * The answer to each of the calls; undefined if there is only one, or if the statement failed or did not apply: then each call
 * is left to BullMQ, which reports the error.
 */
async function nextJobs(
  { pool, isKnown }: Sender,
  statement: pg.QueryConfig,
  count: number,
): Promise<NextJob[] | undefined> {
  if (count === 1) return undefined;
  const send = async () => ((await isKnown()) ? pool.query<NextRow>(statement) : { rows: [] });
  const { rows } = await send().catch(() => ({ rows: [] })); // everything was rolled back, unless the connection broke
  if (!rows[0]?.holds) return undefined;
  // The statements apply only where no limit and no delayed job says when to ask again.
  const next = Array.from({ length: count }, (): NextJob => [null, '', 0, 0]);
  for (const row of rows) {
    if (row.ord !== null) next[Number(row.ord) - 1] = [jobOf(row), row.id, 0, 0];
  }
  return next;
}

/** The statement that fetches a job for each token; its rows are explained in postgres-claim.sql. @param now in milliseconds */
export function claimBatch(options: BatchOptions, tokens: string[], now: number) {
  return CLAIM.bind({ ...options, tokens, now });
}

/** The statement that completes jobs; its rows are explained in postgres-complete.sql. @param now in milliseconds */
export function completeBatch(options: BatchOptions, endings: Ending[], now: number) {
  const ids = endings.map(({ id }) => id);
  const tokens = endings.map(({ token }) => token);
  const results = endings.map(({ result }) => result);
  return COMPLETE.bind({ ...options, ids, tokens, results, now });
}

/** A row of BullMQ's table `job`, as `pg` reads it: `bigint` is text, `jsonb` is its value. */
interface JobRow {
  id: string;
  name: string;
  data: unknown;
  opts: JobJson['opts'] | null;
  progress: JobJson['progress'] | null;
  attempts_made: number | null;
  attempts_started: number | null;
  finished_at_ms: string | null;
  processed_at_ms: string | null;
  added_at_ms: string;
  delay_ms: string | null;
  priority: number | null;
  failed_reason: string | null;
  stacktrace: unknown;
  return_value: unknown;
  parent_id: string | null;
  parent_queue: string | null;
  parent_key: string | null;
  scheduler_id: string | null;
  dedup_id: string | null;
  deferred_failure: string | null;
  processed_by: string | null;
  stalled_count: number | null;
}

/** A row of a shared statement: whether it applied, and the job for the call of this number, if there is one. */
type NextRow = { holds: boolean } & (({ ord: string } & JobRow) | { ord: null });

/** The job of a row, as BullMQ's backend returns it. */
function jobOf(row: JobRow): JobJson {
  const fields = {
    id: row.id,
    name: row.name,
    data: JSON.stringify(row.data ?? {}),
    opts: row.opts ?? {},
    progress: row.progress ?? 0,
    attemptsMade: row.attempts_made ?? 0,
    attemptsStarted: row.attempts_started ?? 0,
    finishedOn: numberOf(row.finished_at_ms),
    processedOn: numberOf(row.processed_at_ms),
    timestamp: Number(row.added_at_ms),
    delay: numberOf(row.delay_ms),
    priority: row.priority ?? undefined,
    failedReason: row.failed_reason ?? undefined,
    stacktrace: JSON.stringify(row.stacktrace ?? []),
    returnvalue: JSON.stringify(row.return_value ?? null),
    parent: row.parent_id === null ? undefined : { id: row.parent_id, queueKey: row.parent_queue ?? '' },
    parentKey: row.parent_key ?? undefined,
    repeatJobKey: row.scheduler_id ?? undefined,
    deduplicationId: row.dedup_id ?? undefined,
    deferredFailure: row.deferred_failure ?? undefined,
    processedBy: row.processed_by ?? undefined,
    stalledCounter: row.stalled_count ?? 0,
  };
  return fields as JobJson;
}

function numberOf(bigint: string | null): number | undefined {
  return bigint === null ? undefined : Number(bigint);
}
