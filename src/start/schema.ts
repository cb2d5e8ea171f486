/**
 * Waits until the database responds and has the schema that this program needs; a worker does nothing before that.
 * The API creates the schema (database.ts). Workers can start before the API, and before the database.
 *
 * Guarantee: only the schema versions are read, and nothing is written. One line is logged for a database that does not
 * respond, and one for a missing schema.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { queueSchemaState } from '../imports/queue/schema.ts';
import { migrationState, newerSchema, requireUtf8 } from '../platform/db/migrate.ts';
import type { Pool } from '../platform/db/pool.ts';
import { StartError } from '../platform/errors.ts';
import type { Condition } from '../platform/lifecycle.ts';
import { withTimeout } from '../platform/timeouts.ts';

const POLL_MS = 500;
const ANSWER_MS = 10_000;

export interface SchemaWait {
  pool: Pool;
  /** Whether the database also contains the tables of BullMQ. */
  withQueue: boolean;
  logger: Logger;
  condition: Condition;
  /** Ends the wait. */
  stopping: AbortSignal;
}

/** @throws StartError when it is asked to stop before the schema is ready, the schema belongs to a newer program, or the
 * database is not UTF8 */
export async function waitForSchema({ pool, withQueue, logger, condition, stopping }: SchemaWait): Promise<void> {
  let logged: string | undefined;
  for (;;) {
    const { part, text, err } = await lacking(pool, withQueue);
    for (const one of ['database', 'schema']) if (one !== part) condition.working(one);
    if (!part) return;
    condition.failing(part);
    if (part !== logged) logger.warn(err ? { err } : {}, `${text} The worker waits for it.`);
    logged = part;
    await sleep(POLL_MS, undefined, { signal: stopping }).catch(() => {
      throw new StartError('The worker was stopped before the database was ready.');
    });
  }
}

type Lack = { part?: undefined; text?: undefined; err?: undefined } | { part: string; text: string; err?: unknown };

async function lacking(pool: Pool, withQueue: boolean): Promise<Lack> {
  try {
    return await withTimeout(schemaLack(pool, withQueue), ANSWER_MS, 'the database');
  } catch (err) {
    if (err instanceof StartError) throw err;
    return { part: 'database', text: 'The database of DATABASE_URL cannot be read.', err };
  }
}

async function schemaLack(pool: Pool, withQueue: boolean): Promise<Lack> {
  await requireUtf8(pool);
  const { applied, known } = await migrationState(pool);
  const bring = 'Start the API of this version ("npm run api"); it updates the schema.';
  if (applied === 0) return { part: 'schema', text: `The database has no schema yet. ${bring}` };
  if (applied > known) throw newerSchema(applied, known);
  if (applied < known) {
    return { part: 'schema', text: `The database has schema ${applied}; this program needs ${known}. ${bring}` };
  }
  if (!withQueue) return {};
  const queue = await queueSchemaState(pool);
  if (queue.applied >= queue.known) return {};
  return {
    part: 'schema',
    text: `The tables of the queue have version ${queue.applied}; this program needs ${queue.known}. ${bring}`,
  };
}
