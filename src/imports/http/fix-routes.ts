/**
 * Why users failed, one item for editing, and corrections: of one entry, or of all entries of a cause; of an import, and
 * of a draft after its check.
 */
import { type Request, type Response, Router } from 'express';
import { callerOf } from '../../access/caller.ts';
import type { OperationId } from '../../access/permissions.ts';
import { ApiError, invalidArgument } from '../../errors.ts';
import { LARGE_BODY, readJson } from '../../http/json-body.ts';
import { parseBody } from '../../http/parse-body.ts';
import type { ImportDeps } from '../deps.ts';
import { requireDraftState, stateOf, wrongState } from '../draft/draft.ts';
import { findDraft } from '../draft/visible.ts';
import { openCausesReader } from '../fix/causes.ts';
import { fixCause } from '../fix/fix-cause.ts';
import { fixItem, readItem } from '../fix/fix-item.ts';
import { type Fixable, fixableImport } from '../fix/fixable.ts';
import { fixableDraft } from '../fix/fixable-draft.ts';
import { readProgress } from '../status/progress.ts';
import { fixBody, itemPatch } from './queries.ts';
import { fixes } from './request-limits.ts';
import { visibleImport } from './visible.ts';

/** Completes "An import in state … cannot be …". */
const DONE = 'corrected';

export function fixRoutes({ pool, secrets }: ImportDeps): Router {
  const router = Router();
  const causes = openCausesReader(pool);
  const deps = { pool, secrets };

  /** The import, or the draft after its check. @throws ApiError as `visibleImport`; 400 for a draft in another state */
  async function target(operation: OperationId, req: Request, res: Response): Promise<Fixable> {
    const draft = await findDraft(pool, operation, req, res);
    if (!draft) return fixableImport(deps, callerOf(res), await visibleImport(pool, operation, req, res));
    requireDraftState(draft, ['checked'], DONE);
    const check = await readProgress(pool, draft.checkId as string);
    if (!check) throw wrongState(stateOf(draft), `${DONE}, as its check was removed; check it again`);
    return fixableDraft(deps, callerOf(res), draft, check);
  }

  router.get('/admin/v1/imports/:importId/causes', async (req, res) => {
    res.json(await causes.read((await target('listImportCauses', req, res)).of));
  });
  router.get('/admin/v1/imports/:importId/items/:index', async (req, res) => {
    const of = await target('getImportItem', req, res);
    res.json(await readItem(deps, of, indexOf(req.params.index)));
  });
  router.patch('/admin/v1/imports/:importId/items/:index', async (req, res) => {
    const of = await target('fixImportItem', req, res);
    const body = itemPatch.safeParse(await readJson(req, res, LARGE_BODY));
    if (!body.success)
      throw invalidArgument('IMPORT-PATCH', 'The body must be a JSON object with fields of the entry.');
    res.json(await fixItem(deps, of, indexOf(req.params.index), body.data));
  });
  router.post('/admin/v1/imports/:importId/_fix', async (req, res) => {
    const of = await target('fixImport', req, res);
    const body = parseBody(fixBody, await readJson(req, res), 'IMPORT-FIX');
    if (body.remedy === 'user-name-as-email' && body.domain === undefined) throw noDomain();
    const release = fixes.take(callerOf(res));
    res.json(await fixCause(deps, of, body).finally(release));
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
