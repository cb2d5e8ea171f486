/**
 * What a worker waits for before it does anything: a database that answers, with the schema that this program needs.
 * The API brings the schema (database.ts); workers may be started before it, and before the database.
 *
 * Guarantee: nothing is read but the numbers of the schema, and nothing is written. One line is logged, and one more when the
 * database is there and the schema is not. On crash: nothing was begun.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Condition } from '../condition.ts';
import { migrationState } from '../db/migrate.ts';
import type { Pool } from '../db/pool.ts';
import { queueSchemaState } from '../queue/schema.ts';
import { StartError } from '../start-error.ts';
import { withTimeout } from '../timeout.ts';

const POLL_MS = 500;
const ANSWER_MS = 10_000;

export interface SchemaWait {
  pool: Pool;
  /** Whether BullMQ's tables are in the database too. */
  withQueue: boolean;
  logger: Logger;
  condition: Condition;
  /** Ends the waiting. */
  stopping: AbortSignal;
}

/** @throws StartError when it is told to stop before the schema is there */
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
    return { part: 'database', text: 'The database of DATABASE_URL cannot be read.', err };
  }
}

async function schemaLack(pool: Pool, withQueue: boolean): Promise<Lack> {
  const { applied, known } = await migrationState(pool);
  const bring = 'Start the API of this version ("npm run api"), which brings the schema.';
  if (applied === 0) return { part: 'schema', text: `The database has no schema yet. ${bring}` };
  if (applied < known) {
    return { part: 'schema', text: `The database has schema ${applied}, this program needs ${known}. ${bring}` };
  }
  if (!withQueue) return {};
  const queue = await queueSchemaState(pool);
  if (queue.applied >= queue.known) return {};
  return {
    part: 'schema',
    text: `The queue's tables have version ${queue.applied}, this program needs ${queue.known}. ${bring}`,
  };
}
