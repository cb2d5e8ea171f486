/** The routes of drafts: create, upload files, discard. Reading them is part of reading imports (http/read-routes.ts). */
import { type Request, type Response, Router } from 'express';
import { callerOf, orgsFor } from '../../access/caller.ts';
import type { OperationId } from '../../access/permissions.ts';
import { ApiError } from '../../errors.ts';
import { readJson } from '../../http/json-body.ts';
import { parseBody } from '../../http/parse-body.ts';
import { UsageError } from '../../sources/source.ts';
import type { ImportDeps } from '../deps.ts';
import { parseDuration } from '../duration.ts';
import { readPepper } from '../intake/pepper.ts';
import { dropRest } from '../parse/drop-rest.ts';
import { readProgress } from '../status/progress.ts';
import { readResult } from '../status/result.ts';
import { readWithMore } from '../status/result-extras.ts';
import { signedWebhook } from '../status/webhook.ts';
import { checkBody, startBody } from './check/run-options.ts';
import { requestCheck, startDraft } from './check/start.ts';
import { guessDraft } from './convert/guess-run.ts';
import { convertBody, requestConversion } from './convert/request.ts';
import { createBody, createDraft } from './create.ts';
import { discardDraft } from './discard.ts';
import { draftNotFound, draftResult, readDraft } from './draft.ts';
import { guesses, pieces } from './limits.ts';
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
    const { draft } = await visibleDraft(pool, 'discardImport', 'discarded', req, res);
    await discardDraft(pool, callerOf(res), draft.importId);
    await answer(res, draft.importId);
  });

  const exports = { pool, secrets, most };
  router.get('/admin/v1/imports/:importId/guess', async (req, res) => {
    const { draft } = await visibleDraft(pool, 'guessImport', 'recognized', req, res);
    const release = guesses.take(callerOf(res));
    res.json(await asked(guessDraft(exports, draft)).finally(release));
  });

  router.post('/admin/v1/imports/:importId/_convert', async (req, res) => {
    const read = async () => {
      const body = parseBody(convertBody, await readJson(req, res), 'DRAFT-OPTIONS');
      return { body, pepper: readPepper(req) };
    };
    const { draft, body } = await visibleDraft(pool, 'convertImport', 'converted', req, res, read);
    const { importId } = draft;
    await requestConversion(exports, callerOf(res), importId, body.body, body.pepper);
    await answer(res, importId);
  });

  router.post('/admin/v1/imports/:importId/_check', async (req, res) => {
    const read = async () => parseBody(checkBody, await readJson(req, res), 'DRAFT-CHECK');
    const { draft, body } = await visibleDraft(pool, 'checkImport', 'checked', req, res, read);
    const { importId } = draft;
    await requestCheck(deps, callerOf(res), importId, body);
    await answer(res, importId);
  });

  router.post('/admin/v1/imports/:importId/_start', async (req, res) => {
    const read = async () => parseBody(startBody, await readJson(req, res), 'IMPORT-DRAFT');
    const { draft, body } = await visibleDraft(pool, 'startImport', 'started', req, res, read);
    const { importId } = draft;
    const webhook = await signedWebhook(deps, req, callerOf(res), body.webhook);
    await startDraft(deps, callerOf(res), importId, { ...body, webhook });
    const started = await readWithMore(pool, importId);
    if (!started) throw draftNotFound();
    res.json(await readResult(pool, started));
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

/** @throws ApiError 400 instead of a UsageError: the files are no exports */
async function asked<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error) => {
    throw error instanceof UsageError ? new ApiError('FAILED_PRECONDITION', 'DRAFT-UNREADABLE', error.message) : error;
  });
}
