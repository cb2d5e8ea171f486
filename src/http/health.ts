/** `/healthz`: this process answers. `/readyz`: it can do its work, which needs the database. */
import { Router } from 'express';
import type { Pool } from '../db/pool.ts';
import { ApiError } from '../errors.ts';

const DATABASE_MS = 2_000;

export function healthRoutes(deps: { pool: Pool }): Router {
  const router = Router();
  router.get('/healthz', (_req, res) => {
    res.json({ status: 'ok' });
  });
  router.get('/readyz', async (_req, res) => {
    await databaseAnswers(deps.pool);
    res.json({ status: 'ok' });
  });
  return router;
}

/** @throws ApiError 503 when a trivial query takes over 2 seconds or fails */
async function databaseAnswers(pool: Pool): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${DATABASE_MS} ms`)), DATABASE_MS);
  });
  try {
    await Promise.race([pool.query('select 1'), late]);
  } catch (cause) {
    throw new ApiError('UNAVAILABLE', 'NOT-READY', 'The database does not answer.', { cause });
  } finally {
    clearTimeout(timer);
  }
}
