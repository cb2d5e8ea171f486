/**
 * The BullMQ scripts that the batched calls replace, and the digests of the versions that they were written for.
 *
 * Calls are batched only if the script or function that is actually loaded has a digest of this list. After an upgrade
 * of BullMQ the tests of this folder fail and workers log one warning and stop batching: compare the new text with
 * redis-add.lua, redis-finish.lua, postgres-add.sql or postgres-complete.sql, adapt these, and put the new digest here.
 */
import { createHash } from 'node:crypto';
import type { Db } from '../../db/pool.ts';

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
