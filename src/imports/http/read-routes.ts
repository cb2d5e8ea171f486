/** Reading imports over HTTP: the list, one import with its result, its items, its events. */
import { type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import { callerOf, orgsFor } from '../../access/caller.ts';
import type { Pool } from '../../db/pool.ts';
import type { Reads } from '../../db/reads.ts';
import { previewUndo } from '../control/undo-preview.ts';
import { draftProgress, listDrafts } from '../draft/draft.ts';
import { queryOf } from '../query.ts';
import { readItems } from '../status/items-page.ts';
import { listImports } from '../status/progress.ts';
import { readRates } from '../status/rates.ts';
import { countStates } from '../status/state-counts.ts';
import { openProgressWatch } from '../status/watch.ts';
import { streamProgress } from './events-stream.ts';
import { itemsQuery, listQuery } from './queries.ts';
import { previews, streams } from './request-limits.ts';
import { visibleImport, visibleResult } from './visible.ts';

export function readRoutes({ pool, reads, logger }: { pool: Pool; reads: Reads; logger: Logger }): Router {
  const router = Router();
  const watch = openProgressWatch(pool, logger);
  router.get('/admin/v1/imports', (req, res) => list(reads, req, res));
  router.get('/admin/v1/imports/:importId', async (req, res) => {
    res.json(await reads.run((db) => visibleResult(db, 'getImport', req, res)));
  });
  router.get('/admin/v1/imports/:importId/items', (req, res) => items(reads, req, res));
  router.get('/admin/v1/imports/:importId/rates', async (req, res) => {
    const { importId } = await visibleImport(pool, 'getImportRates', req, res);
    res.json({ points: await readRates(pool, importId) });
  });
  router.get('/admin/v1/imports/:importId/undo_preview', async (req, res) => {
    const of = await visibleImport(pool, 'previewImportUndo', req, res);
    const release = previews.take(callerOf(res));
    res.json(await previewUndo(pool, of, () => !res.closed).finally(release));
  });
  router.get('/admin/v1/imports/:importId/events', async (req, res) => {
    const current = await visibleImport(pool, 'streamImportEvents', req, res);
    const release = streams.take(callerOf(res));
    await streamProgress(watch, req, res, current).finally(release);
  });
  return router;
}

async function list(reads: Reads, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  const within = orgsFor(caller, 'listImports');
  const { pageSize: size, pageToken: before, state, orgId, counts } = queryOf(listQuery, req);
  const page = { pageSize: size, before };
  const of = within && { userId: caller.userId, within };
  const [started, drafts, counted] = await reads.run((db) =>
    Promise.all([
      listImports(db, { within, ...page, state, orgId }),
      // A draft has none of these states, and perhaps no organization yet.
      state || orgId ? [] : listDrafts(db, { of, ...page }),
      counts === 'true' ? countStates(db, { of, orgId }) : undefined,
    ]),
  );
  const imports = [...started, ...drafts.map((draft) => draftProgress(draft))]
    .sort((a, b) => Number(b.importId) - Number(a.importId))
    .slice(0, size);
  const next = imports.length === size ? imports.at(-1)?.importId : undefined;
  res.json({ imports, nextPageToken: next ?? '', ...(counted ? { counts: counted } : {}) });
}

async function items(reads: Reads, req: Request, res: Response): Promise<void> {
  const page = await reads.run(async (db) => {
    const progress = await visibleImport(db, 'listImportItems', req, res);
    const { pageToken: from, ...filter } = queryOf(itemsQuery, req);
    return readItems(db, progress, { ...filter, from: Number(from ?? 0) });
  });
  res.json({ items: page.items, nextPageToken: String(page.next ?? '') });
}
