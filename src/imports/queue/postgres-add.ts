/**
 * Adds jobs to PostgreSQL by statements of postgres-add.sql, up to a thousand jobs each.
 *
 * Unlike BullMQ, it stores a job's id only as its id, not as an option `jobId` too, and gives all jobs of a statement the
 * time of the first: so the options of all jobs are the same, and are sent once.
 * Guarantee: the jobs are in the queue when `addJobs` resolves. Adding an id that exists changes nothing.
 */
import type { BackendFactory, IQueueBackend } from 'bullmq';
import type pg from 'pg';
import type { Db } from '../../platform/db/pool.ts';
import { readStatement } from '../../platform/db/statement.ts';
import { type Addition, type AddJobs, areSimple, askOnce, chunksOf } from './batching.ts';

const ADD = readStatement(new URL('postgres-add.sql', import.meta.url), {
  parameters: ['queue', 'name', 'options', 'ids', 'data', 'now', 'attempts', 'lifo'],
  name: 'add-jobs',
});
const MOST_AT_ONCE = 1000;
const OPTIONS: ReadonlySet<string> = new Set(['attempts', 'lifo', 'removeOnComplete', 'removeOnFail']);

/**
 * Returns a factory of the same backends, which add jobs in batches.
 * @param warn is called when the functions of the database are not those that Muster batches
 */
export function withBatchedAdds(
  factory: BackendFactory<IQueueBackend, unknown>,
  warn: (reason: string) => void,
): BackendFactory<IQueueBackend, unknown> {
  return (queue, options, ...rest) => {
    const backend = factory(queue, options, ...rest);
    const plain = backend.addJobs.bind(backend) as AddJobs;
    const pool = (options as { connection: pg.Pool }).connection;
    const isKnown = askOnce(pool as unknown as Db, 'add', backend, () =>
      warn("BullMQ's functions in the database are not the version that Muster batches. Jobs are added by them."),
    );
    backend.addJobs = async (entries) => {
      if (!areSimple(entries, OPTIONS) || !(await isKnown())) return plain(entries);
      for (const chunk of chunksOf(entries, MOST_AT_ONCE, OPTIONS)) await pool.query(addBatch(queue, chunk));
      return entries.map(({ jobId }) => jobId);
    };
    return backend;
  };
}

/** The statement that adds jobs of the same name and options. */
function addBatch(queue: string, jobs: Addition[]) {
  const { job } = jobs[0] as Addition;
  const { jobId: _own, ...options } = job.opts as Record<string, unknown>;
  const { attempts = 1, lifo = false } = job.opts;
  return ADD.bind({
    queue,
    name: job.name,
    options: JSON.stringify(options),
    ids: jobs.map(({ jobId }) => jobId),
    data: jobs.map((entry) => entry.job.data),
    now: job.timestamp,
    attempts,
    lifo,
  });
}
