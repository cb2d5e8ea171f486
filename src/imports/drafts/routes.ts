/** The routes of drafts: create, upload files, discard. Reading drafts is part of reading imports (../routes.ts). */
import { Router } from 'express';
import type { z } from 'zod';
import type { mailsPreview } from '../../contract/draft-results.ts';
import { draftOperations as operations } from '../../contract/drafts.ts';
import { parseDuration } from '../../contract/import-options.ts';
import { orgsFor } from '../../contract/permissions.ts';
import { type Asked, type Finder, orgsOfBody, serve, serveRaw } from '../../contract/serve.ts';
import { mailLookFor } from '../../directory/branding.ts';
import { findOrgs } from '../../directory/organizations.ts';
import { previewMail } from '../../messages/mail/preview.ts';
import { openSender, type Sender } from '../../messages/mail/sender.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { ImportDryRuns } from '../../platform/db/tables.ts';
import { ApiError } from '../../platform/errors.ts';
import { goneSignal } from '../../platform/http/errors.ts';
import { languageFor } from '../../platform/messages/catalogue.ts';
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
import { type Draft, draftResult, readDraft, visibleDraft } from './draft.ts';
import { findEarlier } from './earlier.ts';
import { guessDraft } from './guess-pool.ts';
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
  serve(router, operations.previewImportMails, target, ({ target }) =>
    previewMails({ pool, config, sender }, target.draft('previewed')),
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

/** Kinds of mail as the API names them, in the order in which they are shown. */
const KINDS = [
  ['verification', 'verify_email'],
  ['initialisation', 'initialise'],
  ['passkey', 'add_passkey'],
] as const;

/**
 * The mails that the import of a draft may send, and who sends them.
 *
 * Guarantee: a mail is made by the code that makes the one that is sent; only its user and code are made up.
 */
async function previewMails(
  { pool, config, sender }: Pick<ImportDeps, 'pool' | 'config'> & { sender: () => Promise<Sender> },
  { orgs, checkId }: Pick<Draft, 'orgs' | 'checkId'>,
): Promise<z.input<typeof mailsPreview>> {
  const [org, from, counted] = await Promise.all([firstOf(pool, orgs), sender(), mailsOfCheck(pool, checkId)]);
  const look = await mailLookFor(pool, org.id, config.baseUrl);
  const language = languageFor(look.languages);
  const expiresAt = new Date(Date.now() + config.CODE_TTL_MS);
  const mails = KINDS.flatMap(([name, kind]) => {
    const users = new Map<string, number>([[language, 0]]);
    for (const [key, count] of Object.entries(counted ?? {})) {
      const [of, preferred = language] = key.split(' ');
      if (of === kind) users.set(preferred, (users.get(preferred) ?? 0) + count);
    }
    return [...users].map(([chosen, count]) => ({
      kind: name,
      ...(counted === undefined ? {} : { users: count }),
      // The addresses are not verified yet, so no mail has a name.
      ...previewMail(config, { kind, org, languages: { chosen }, look, expiresAt, displayName: '' }),
      validForSeconds: Math.floor(config.CODE_TTL_MS / 1000),
    }));
  });
  return { ...from, language, mails };
}

/** How many users would get which mail, by kind and language (`Found` of run/dry-run.ts); undefined before a check. */
async function mailsOfCheck(pool: Pool, checkId: string | undefined): Promise<Record<string, number> | undefined> {
  if (checkId === undefined) return undefined;
  const text = 'select mails, verifications, initialisations from import_dry_runs where import_id = $1';
  type Counts = Pick<ImportDryRuns, 'verifications' | 'initialisations'> & { mails: Record<string, number> };
  const [row] = (await pool.query<Counts>(text, [checkId])).rows;
  if (!row || Object.keys(row.mails).length > 0) return row?.mails;
  // A check of an earlier version, or nothing to send.
  return { verify_email: row.verifications, initialise: row.initialisations };
}

/** An organization whose name is in the example: each of several has mails with its own. */
async function firstOf(pool: Pool, orgs: readonly string[]): Promise<{ id: string; name: string }> {
  const [orgId = ''] = orgs;
  const [org] = orgId === '' ? [] : await findOrgs(pool, [orgId]);
  return { id: orgId, name: org?.name ?? '' };
}
