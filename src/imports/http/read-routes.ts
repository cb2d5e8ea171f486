/** Reading imports over HTTP: the list, one import with its result, its items, its events. */
import { type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import { callerOf, orgsFor } from '../../access/caller.ts';
import type { Pool } from '../../db/pool.ts';
import { queryOf } from '../query.ts';
import { readItems } from '../status/items-page.ts';
import { listImports } from '../status/progress.ts';
import { openProgressWatch } from '../status/watch.ts';
import { streamProgress } from './events-stream.ts';
import { itemsQuery, listQuery } from './queries.ts';
import { streams } from './request-limits.ts';
import { visibleImport, visibleResult } from './visible.ts';

export function readRoutes({ pool, logger }: { pool: Pool; logger: Logger }): Router {
  const router = Router();
  const watch = openProgressWatch(pool, logger);
  router.get('/admin/v1/imports', (req, res) => list(pool, req, res));
  router.get('/admin/v1/imports/:importId', async (req, res) => {
    res.json(await visibleResult(pool, 'getImport', req, res));
  });
  router.get('/admin/v1/imports/:importId/items', (req, res) => items(pool, req, res));
  router.get('/admin/v1/imports/:importId/events', async (req, res) => {
    const current = await visibleImport(pool, 'streamImportEvents', req, res);
    const release = streams.take(callerOf(res));
    await streamProgress(watch, req, res, current).finally(release);
  });
  return router;
}

async function list(pool: Pool, req: Request, res: Response): Promise<void> {
  const within = orgsFor(callerOf(res), 'listImports');
  const { pageSize: size, pageToken: before } = queryOf(listQuery, req);
  const imports = await listImports(pool, { within, pageSize: size, before });
  const next = imports.length === size ? imports.at(-1)?.importId : undefined;
  res.json({ imports, nextPageToken: next ?? '' });
}

async function items(pool: Pool, req: Request, res: Response): Promise<void> {
  const progress = await visibleImport(pool, 'listImportItems', req, res);
  const { pageToken: from, ...filter } = queryOf(itemsQuery, req);
  const page = await readItems(pool, progress, { ...filter, from: Number(from ?? 0) });
  res.json({ items: page.items, nextPageToken: String(page.next ?? '') });
}
