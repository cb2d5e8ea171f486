/** Why users failed, one item for editing, and corrections: of one entry, or of all entries of a cause. */
import { Router } from 'express';
import { callerOf } from '../../access/caller.ts';
import { ApiError, invalidArgument } from '../../errors.ts';
import { LARGE_BODY, readJson } from '../../http/json-body.ts';
import { parseBody } from '../../http/parse-body.ts';
import type { ImportDeps } from '../deps.ts';
import { openCausesReader } from '../fix/causes.ts';
import { fixCause } from '../fix/fix-cause.ts';
import { fixItem, readItem } from '../fix/fix-item.ts';
import { fixBody, itemPatch } from './queries.ts';
import { fixes } from './request-limits.ts';
import { visibleImport } from './visible.ts';

export function fixRoutes({ pool, secrets }: ImportDeps): Router {
  const router = Router();
  const causes = openCausesReader(pool);
  const deps = { pool, secrets };

  router.get('/admin/v1/imports/:importId/causes', async (req, res) => {
    res.json(await causes.read(await visibleImport(pool, 'listImportCauses', req, res)));
  });
  router.get('/admin/v1/imports/:importId/items/:index', async (req, res) => {
    const of = await visibleImport(pool, 'getImportItem', req, res);
    res.json(await readItem(deps, of, indexOf(req.params.index)));
  });
  router.patch('/admin/v1/imports/:importId/items/:index', async (req, res) => {
    const of = await visibleImport(pool, 'fixImportItem', req, res);
    const body = itemPatch.safeParse(await readJson(req, res, LARGE_BODY));
    if (!body.success)
      throw invalidArgument('IMPORT-PATCH', 'The body must be a JSON object with fields of the entry.');
    res.json(await fixItem(deps, callerOf(res), of, indexOf(req.params.index), body.data));
  });
  router.post('/admin/v1/imports/:importId/_fix', async (req, res) => {
    const of = await visibleImport(pool, 'fixImport', req, res);
    const body = parseBody(fixBody, await readJson(req, res), 'IMPORT-FIX');
    if (body.remedy === 'user-name-as-email' && body.domain === undefined) throw noDomain();
    const release = fixes.take(callerOf(res));
    res.json(await fixCause(deps, callerOf(res), of, body).finally(release));
  });
  return router;
}

function indexOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new ApiError('NOT_FOUND', 'IMPORT-ITEM-NOT-FOUND', 'The import has no item with this index.');
}

function noDomain(): ApiError {
  const description = 'is required by the remedy user-name-as-email';
  return invalidArgument('IMPORT-FIX', `domain ${description}.`, [{ field: 'domain', description }]);
}
