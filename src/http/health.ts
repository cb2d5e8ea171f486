/**
 * `/healthz`: this process answers. `/readyz`: it can do its work; if not, which parts cannot, and since when.
 *
 * Guarantee: an answer within ANSWER_MS and a little, of names and times alone: no error, address or statement is shown.
 * Why a part fails is logged once, when it begins to.
 */
import { type Response, Router } from 'express';
import type { Logger } from 'pino';
import { type Condition, type Failure, openCondition } from '../condition.ts';
import { errorBody, STATUS } from '../errors.ts';
import { withTimeout } from '../timeout.ts';

const ANSWER_MS = 2000;

export interface HealthDeps {
  pool: { query(text: string): Promise<unknown> };
  queues?: { check(): Promise<void> };
  /** What the parts of this process report of themselves. */
  condition?: Condition;
  logger?: Pick<Logger, 'warn'>;
  /** Parts without which it can do its work all the same; they are shown with 200. */
  optional?: string[];
}

/** Asks the database and the queue at each `/readyz`. */
export function healthRoutes(deps: HealthDeps): Router {
  const { pool, queues, condition = openCondition(), logger, optional = [] } = deps;
  const isFailing = (part: string) => condition.failures().some((failure) => failure.part === part);

  async function check(part: string, answer: Promise<unknown>): Promise<void> {
    try {
      await withTimeout(answer, ANSWER_MS, `the ${part}`);
      condition.working(part);
    } catch (err) {
      if (condition.failing(part)) logger?.warn({ err, part }, 'not ready');
    }
  }

  const router = Router();
  router.get('/healthz', (_req, res) => {
    res.json({ status: 'ok' });
  });
  router.get('/readyz', async (_req, res) => {
    const isAsked = queues && !isFailing('schema'); // which holds the queue's tables
    await Promise.all([check('database', pool.query('select 1')), isAsked && check('queue', queues.check())]);
    const failing = condition.failures();
    if (failing.some(({ part }) => !optional.includes(part))) sendNotReady(res, failing);
    else res.json({ status: 'ok', ...(failing.length > 0 ? { failing } : {}) });
  });
  return router;
}

function sendNotReady(res: Response, failing: Failure[]): void {
  const parts = failing.map(({ part, since }) => `${part} (since ${since})`).join(', ');
  const body = errorBody('UNAVAILABLE', 'NOT-READY', `Not ready. These parts do not work: ${parts}.`);
  res
    .status(STATUS.UNAVAILABLE.http)
    .set('Retry-After', '1')
    .json({ ...body, failing });
}
