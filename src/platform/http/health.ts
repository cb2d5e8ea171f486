/**
 * `/healthz`: this process responds. `/readyz`: it is ready to work; if not, which parts fail, and since when.
 *
 * Guarantee: a response within little more than twice ANSWER_MS. It contains names and times only: no error, address or
 * statement. The reason of a failure is logged once, when the part starts to fail.
 */
import { type Response, Router } from 'express';
import type { Logger } from 'pino';
import { sqlState } from '../db/faults.ts';
import { errorBody, STATUS, StartError } from '../errors.ts';
import { type Condition, type Failure, openCondition } from '../lifecycle.ts';
import { withTimeout } from '../timeouts.ts';

const ANSWER_MS = 2000;

const READ_ONLY = `select current_setting('transaction_read_only') = 'on' as "isReadOnly"`;
const FRESH_MS = 5000;
const DISK_FULL = '53100';
/** The rows need more than 64 kB, and `much` depends on `little`, so that the setting counts. */
const SPILL = `select count(*) from set_config('work_mem', '64kB', true) as little,
  generate_series(1, 20000 + 0 * length(little)) as much`;

export interface HealthDeps {
  pool: { query(text: string): Promise<unknown> };
  queues?: { check(): Promise<void> };
  /** Fails when users wait for a worker, and none is there. */
  workers?: { check(): Promise<void> };
  /** Throws a StartError when the process lacks an encryption key that the database needs. */
  keys?: { check(): Promise<void> };
  /** The state that the parts of this process report. */
  condition?: Condition;
  logger?: Pick<Logger, 'warn'>;
  /** Parts that the process can work without; their failure is shown with 200. */
  optional?: string[];
}

/** Checks the database and the queue at each `/readyz`, and the space on the database's disk once in some seconds. */
export function healthRoutes(deps: HealthDeps): Router {
  const { pool, queues, workers, keys, condition = openCondition(), logger, optional = [] } = deps;
  const isFailing = (part: string) => condition.failures().some((failure) => failure.part === part);

  const disk = openDiskCheck(pool);

  async function check(part: string, answer: Promise<unknown>, isFault = (_: unknown) => true): Promise<void> {
    try {
      await withTimeout(answer, ANSWER_MS, `the ${part}`);
      condition.working(part);
    } catch (err) {
      if (isFault(err) && condition.failing(part)) logger?.warn({ err, part }, 'not ready');
    }
  }

  async function checkDatabase(): Promise<void> {
    const answer = requireWritable(pool);
    // A connection writes a file if the catalogue has changed: a full disk may keep PostgreSQL from taking any. It answers.
    await check(
      'database',
      answer.catch((error) => (isDiskFull(error) ? undefined : Promise.reject(error))),
    );
    if (!isFailing('database')) await check('disk', answer.then(disk), isDiskFull);
  }

  const router = Router();
  router.get('/healthz', (_req, res) => {
    res.json({ status: 'ok' });
  });
  router.get('/readyz', async (_req, res) => {
    const hasTables = !isFailing('schema'); // and the tables of the queue
    await Promise.all([
      checkDatabase(),
      queues && hasTables && check('queue', queues.check()),
      workers && hasTables && check('workers', workers.check()),
      keys && hasTables && check('encryption key', keys.check(), isLack),
    ]);
    const failing = condition.failures();
    if (failing.some(({ part }) => !optional.includes(part))) sendNotReady(res, failing);
    else res.json({ status: 'ok', ...(failing.length > 0 ? { failing } : {}) });
  });
  return router;
}

/** @throws Error when the database does not answer, or takes no writes: a replica, or a server that was made read-only */
async function requireWritable(pool: HealthDeps['pool']): Promise<void> {
  const { rows } = (await pool.query(READ_ONLY)) as { rows?: { isReadOnly?: boolean }[] };
  if (rows?.[0]?.isReadOnly) {
    throw new Error('The database takes no writes: it is a replica that was not promoted, or it was made read-only.');
  }
}

/** Whether a key is missing; a database that did not answer is no proof of that. */
function isLack(error: unknown): boolean {
  return error instanceof StartError;
}

function sendNotReady(res: Response, failing: Failure[]): void {
  const parts = failing.map(({ part, since }) => `${part} (since ${since})`).join(', ');
  const body = errorBody('UNAVAILABLE', 'NOT-READY', `Not ready. These parts do not work: ${parts}.`);
  res
    .status(STATUS.UNAVAILABLE.http)
    .set('Retry-After', '1')
    .json({ ...body, failing });
}

/**
 * Checks whether PostgreSQL has disk space left. A server whose disk is full still answers queries, so only a write
 * shows it. Nothing is stored: the write is a temporary file of 280 kB, as of a large sort, in the tablespace of the
 * database, at most once in FRESH_MS, as anybody may call `/readyz`.
 * @returns a function that rejects with the server's error when the last write failed
 */
export function openDiskCheck(pool: { query(text: string): Promise<unknown> }): () => Promise<unknown> {
  let last: Promise<unknown> | undefined;
  let since = 0;
  return () => {
    if (!last || performance.now() - since > FRESH_MS) {
      since = performance.now();
      last = pool.query(SPILL);
    }
    return last;
  };
}

export function isDiskFull(error: unknown): boolean {
  return sqlState(error) === DISK_FULL;
}
