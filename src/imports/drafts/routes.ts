/** The routes of drafts: create, upload files, discard. Reading drafts is part of reading imports (../routes.ts). */
import { type Request, type Response, Router } from 'express';
import { checkBody, convertBody, createBody, parseDuration, startBody } from '../../contract/import-options.ts';
import { callerOf, type OperationId, orgsFor } from '../../contract/permissions.ts';
import { ApiError } from '../../platform/errors.ts';
import { parseBody, readJson } from '../../platform/http/request-body.ts';
import { UsageError } from '../../sources/read/records.ts';
import { dropRest } from '../entries/body.ts';
import type { ImportDeps } from '../entries/options.ts';
import { ACTIONS } from '../entries/states.ts';
import { addAuthor } from '../intake/authority.ts';
import { readPepper } from '../intake/pepper.ts';
import { importNotFound } from '../status/progress.ts';
import { readResult, readWithMore } from '../status/result.ts';
import { signedWebhook } from '../status/webhook.ts';
import { requestCheck, startDraft } from './check.ts';
import { requestConversion } from './convert-request.ts';
import { createDraft, discardDraft, guesses, pieces } from './create.ts';
import { draftResult, readDraft, visibleDraft } from './draft.ts';
import { guessDraft } from './guess-pool.ts';
import { DraftFiles, openTus } from './tus.ts';

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
    if (!draft) throw importNotFound();
    res.json(await draftResult(pool, draft));
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
    const { draft, body } = await visibleDraft(pool, 'convertImport', ACTIONS.convert.done, req, res, read);
    const { importId } = draft;
    await requestConversion(exports, callerOf(res), importId, body.body, body.pepper);
    await answer(res, importId);
  });

  router.post('/admin/v1/imports/:importId/_check', async (req, res) => {
    const read = async () => parseBody(checkBody, await readJson(req, res), 'DRAFT-CHECK');
    const { draft, body } = await visibleDraft(pool, 'checkImport', ACTIONS.check.done, req, res, read);
    const { importId } = draft;
    await requestCheck(deps, callerOf(res), importId, body);
    await answer(res, importId);
  });

  router.post('/admin/v1/imports/:importId/_start', async (req, res) => {
    const read = async () => parseBody(startBody, await readJson(req, res), 'IMPORT-DRAFT');
    const { draft, body } = await visibleDraft(pool, 'startImport', ACTIONS.start.done, req, res, read);
    const { importId } = draft;
    const webhook = await signedWebhook(deps, req, callerOf(res), body.webhook);
    await startDraft(deps, callerOf(res), importId, { ...body, webhook });
    const started = await readWithMore(pool, importId);
    if (!started) throw importNotFound();
    res.json(await readResult(pool, started));
  });

  async function upload(operation: OperationId, req: Request, res: Response): Promise<void> {
    try {
      const { draft } = await visibleDraft(pool, operation, 'given files', req, res);
      if (req.method !== 'HEAD') await addAuthor(pool, draft.importId, callerOf(res).userId);
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
