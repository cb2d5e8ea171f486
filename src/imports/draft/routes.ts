/** The routes of drafts: create, upload files, discard. Reading them is part of reading imports (http/read-routes.ts). */
import { type Request, type Response, Router } from 'express';
import { callerOf, orgsFor } from '../../access/caller.ts';
import type { OperationId } from '../../access/permissions.ts';
import { readJson } from '../../http/json-body.ts';
import { parseBody } from '../../http/parse-body.ts';
import type { ImportDeps } from '../deps.ts';
import { parseDuration } from '../duration.ts';
import { dropRest } from '../parse/drop-rest.ts';
import { readProgress } from '../status/progress.ts';
import { createBody, createDraft } from './create.ts';
import { discardDraft } from './discard.ts';
import { draftNotFound, draftResult, readDraft } from './draft.ts';
import { pieces } from './limits.ts';
import { DraftFiles } from './upload/store.ts';
import { openTus } from './upload/tus.ts';
import { visibleDraft } from './visible.ts';

const FILES = '/admin/v1/imports/:importId/files';
const FILE = `${FILES}/:fileId`;

export function draftRoutes(deps: ImportDeps): Router {
  const { pool, config, secrets } = deps;
  const router = Router();
  const most = config.MAX_IMPORT_BYTES;
  const tus = openTus(new DraftFiles({ pool, uploadPool: deps.uploadPool ?? pool, secrets, most }), most);
  const ttlMs = parseDuration(config.DRAFT_TTL) as number;

  async function answer(res: Response, importId: string): Promise<void> {
    const draft = await readDraft(pool, importId);
    if (!draft) throw draftNotFound();
    res.json(await draftResult(pool, draft, readProgress));
  }

  router.post('/admin/v1/imports', async (req, res) => {
    const caller = callerOf(res);
    orgsFor(caller, 'createImport');
    const body = parseBody(createBody, await readJson(req, res), 'IMPORT-DRAFT');
    const importId = await createDraft(pool, caller, body, ttlMs);
    res.location(`/admin/v1/imports/${importId}`).status(201);
    await answer(res, importId);
  });

  router.post('/admin/v1/imports/:importId/_discard', async (req, res) => {
    const { importId } = await visibleDraft(pool, 'discardImport', 'discarded', req, res);
    await discardDraft(pool, callerOf(res), importId);
    await answer(res, importId);
  });

  async function upload(operation: OperationId, req: Request, res: Response): Promise<void> {
    try {
      await visibleDraft(pool, operation, 'given files', req, res);
      const release = req.method === 'PATCH' || req.method === 'POST' ? pieces.take(callerOf(res)) : () => {};
      await tus.handle(req, res).finally(release);
    } catch (error) {
      dropRest(req, res);
      throw error;
    }
  }
  router.post(FILES, (req, res) => upload('createImportFile', req, res));
  router.head(FILE, (req, res) => upload('getImportFile', req, res));
  router.patch(FILE, (req, res) => upload('sendImportFile', req, res));
  router.delete(FILE, (req, res) => upload('removeImportFile', req, res));
  return router;
}
