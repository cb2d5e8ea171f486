/** The routes of drafts: create, upload files, discard. Reading drafts is part of reading imports (../routes.ts). */
import { Router } from 'express';
import { draftOperations as operations } from '../../contract/drafts.ts';
import { parseDuration } from '../../contract/import-options.ts';
import { orgsFor } from '../../contract/permissions.ts';
import { type Asked, type Finder, orgsOfBody, serve, serveRaw } from '../../contract/serve.ts';
import { openSender } from '../../messages/mail/sender.ts';
import { ApiError } from '../../platform/errors.ts';
import { goneSignal } from '../../platform/http/errors.ts';
import { UsageError } from '../../sources/read/records.ts';
import { dropRest } from '../entries/body.ts';
import type { ImportDeps } from '../entries/options.ts';
import { ACTIONS, requireState } from '../entries/states.ts';
import { addAuthor } from '../intake/authority.ts';
import { readPepper } from '../intake/pepper.ts';
import { importNotFound } from '../status/progress.ts';
import { readResult, readWithMore } from '../status/result.ts';
import { signedWebhook } from '../status/webhook.ts';
import { requestCheck, startDraft } from './check.ts';
import { requestConversion } from './convert-request.ts';
import { createDraft, discardDraft, guesses, pieces } from './create.ts';
import { draftResult, readDraft, visibleDraft } from './draft.ts';
import { findEarlier } from './earlier.ts';
import { guessDraft } from './guess-pool.ts';
import { previewMails } from './mails.ts';
import { type TryDeps, tries, tryPassword } from './try-password.ts';
import { DraftFiles, openTus } from './tus.ts';

export function draftRoutes(deps: ImportDeps & Pick<TryDeps, 'hasher' | 'logger'>): Router {
  const { pool, config, secrets } = deps;
  const sender = openSender(config, config.MAIL_DNS_SERVERS);
  const router = Router();
  const most = config.MAX_IMPORT_BYTES;
  const ttlMs = parseDuration(config.DRAFT_TTL) as number;
  const exports = { pool, secrets, most };
  const target = visibleDraft(pool);

  async function current(importId: string) {
    const draft = await readDraft(pool, importId);
    if (!draft) throw importNotFound();
    return draftResult(pool, draft);
  }

  serve(router, operations.createImport, orgsOfBody, async ({ caller, target, body, res }) => {
    const importId = await createDraft(pool, caller, body, ttlMs);
    target.allow();
    res.location(`/admin/v1/imports/${importId}`);
    return current(importId);
  });
  serve(router, operations.discardImport, target, async ({ caller, target }) => {
    const { importId } = target.draft(ACTIONS.discard.done);
    await discardDraft(pool, caller, importId);
    return current(importId);
  });
  serve(
    router,
    operations.guessImport,
    target,
    ({ target, query }) => readable(guessDraft(exports, target.draft('recognized'), query)),
    guesses,
  );
  serve(router, operations.convertImport, target, async ({ caller, target, body, req }) => {
    const pepper = readPepper(req);
    const { importId } = target.draft(ACTIONS.convert.done);
    await requestConversion(exports, caller, importId, body, pepper);
    return current(importId);
  });
  serve(router, operations.checkImport, target, async ({ caller, target, body }) => {
    const { importId } = target.draft(ACTIONS.check.done);
    await requestCheck(deps, caller, importId, body);
    return current(importId);
  });
  serve(router, operations.previewImportMails, target, ({ target, query }) =>
    previewMails({ pool, config, sender }, target.draft('previewed'), query.orgId),
  );
  serve(router, operations.listEarlierImports, target, async ({ caller, operation, target }) => ({
    imports: await findEarlier(pool, target.draft('compared with earlier imports'), orgsFor(caller, operation)),
  }));
  serve(
    router,
    operations.tryImportPassword,
    target,
    async ({ target, body, res }) => {
      const draft = target.draft(ACTIONS.tryPassword.done);
      requireState(draft, 'tryPassword');
      return { result: await tryPassword(deps, draft.importId, body, goneSignal(res)) };
    },
    tries,
  );
  serve(router, operations.startImport, target, async ({ caller, target, body, req }) => {
    const { importId } = target.draft(ACTIONS.start.done);
    const webhook = await signedWebhook(deps, req, caller, body.webhook);
    await startDraft(deps, caller, importId, { ...body, webhook });
    const started = await readWithMore(pool, importId);
    if (!started) throw importNotFound();
    return readResult(pool, started);
  });
  return router.use(fileRoutes(deps));
}

/** Uploads by tus, of which the handlers read and write the protocol. */
function fileRoutes({ pool, uploadPool = pool, config, secrets }: ImportDeps): Router {
  const router = Router();
  const most = config.MAX_IMPORT_BYTES;
  const tus = openTus(new DraftFiles({ pool, uploadPool, secrets, most }), most);
  const { find } = visibleDraft(pool);
  const files: Finder<'import', undefined> = {
    of: 'import',
    async find(asked) {
      try {
        const draft = (await find(asked)).draft('given files');
        if (asked.req.method === 'PATCH') requireState(draft, 'addPiece');
        if (asked.req.method !== 'HEAD') await addAuthor(pool, draft.importId, asked.caller.userId);
      } catch (error) {
        dropRest(asked.req, asked.res);
        throw error;
      }
      return undefined;
    },
  };
  const upload = async ({ caller, req, res }: Asked) => {
    try {
      const release = req.method === 'PATCH' || req.method === 'POST' ? pieces.take(caller) : () => {};
      await tus.handle(req, res).finally(release);
    } catch (error) {
      dropRest(req, res);
      throw error;
    }
  };
  serveRaw(router, operations.createImportFile, files, upload);
  serveRaw(router, operations.getImportFile, files, upload);
  serveRaw(router, operations.sendImportFile, files, upload);
  serveRaw(router, operations.removeImportFile, files, upload);
  return router;
}

/** @throws ApiError 400 instead of a UsageError: the files are no exports */
async function readable<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error) => {
    throw error instanceof UsageError ? new ApiError('FAILED_PRECONDITION', 'DRAFT-UNREADABLE', error.message) : error;
  });
}
