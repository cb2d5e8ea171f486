/**
 * The bulk import, `POST /admin/v1/import`: reads the query and the headers, streams the body into the intake, and
 * answers 202 at once, or 200 with the final result when the import ends within the time of `Prefer: wait`. With
 * `draft`, the users are kept as a draft, and the answer is 202 at once.
 * On crash before the answer: an accepted import is in the list of imports; nothing is kept of a body that was not
 * accepted.
 */
import { type Request, type Response, Router } from 'express';
import { parseDuration } from '../contract/import-options.ts';
import type { ImportResult } from '../contract/import-types.ts';
import { importOperations } from '../contract/imports.ts';
import { type Caller, permissionDenied } from '../contract/permissions.ts';
import { type Asked, type Finder, type OrgsOfBody, orgsOfBody, serveRaw } from '../contract/serve.ts';
import { ApiError } from '../platform/errors.ts';
import { keepAsDraft, requireFewDrafts } from './drafts/create.ts';
import { type Draft, draftProgress, mayOnDraft, readDraft } from './drafts/draft.ts';
import { bounded, commonQuery, dropRest, formatOf, parserFor, readBody, refuseTooLarge } from './entries/body.ts';
import { type ImportDeps, readQuery, unusual } from './entries/options.ts';
import { isEnded } from './entries/states.ts';
import { requireRights } from './intake/authority.ts';
import {
  findKey,
  type KeyedRequest,
  keyedRequest,
  type Recorded,
  requestHashes,
  requireSame,
} from './intake/idempotency.ts';
import { type IntakeOptions, receiveImport } from './intake/intake.ts';
import { readPepper } from './intake/pepper.ts';
import { requireKnown, requireRoom } from './intake/requirements.ts';
import type { ImportSignal } from './status/watch.ts';
import { signedWebhook } from './status/webhook.ts';
import { currentProgress, currentResult, uploads, waits } from './visible.ts';

type Deps = ImportDeps & { signal: ImportSignal };

const MAX_WAIT_S = 600;

export function bulkRoutes(deps: Deps): Router {
  const router = Router();
  serveRaw(router, importOperations.importUsers, unlessDropped, (asked) => bulkImport(deps, asked));
  return router;
}

/** What is left of the body of a caller who may not import is dropped. */
const unlessDropped: Finder<'body', OrgsOfBody> = {
  of: 'body',
  find(asked) {
    try {
      return orgsOfBody.find(asked);
    } catch (error) {
      dropRest(asked.req, asked.res);
      throw error;
    }
  },
};

interface Bulk extends Asked {
  target: OrgsOfBody;
}

async function bulkImport(deps: Deps, { caller, target, req, res }: Bulk): Promise<void> {
  let stopWaiting = () => {};
  try {
    if (preferredWait(req) > 0) stopWaiting = waits.take(caller);
    const release = uploads.take(caller);
    const importId = await receive(deps, req, caller).finally(release);
    // With an idempotency key, it may be of an earlier request, whose caller has since lost the role.
    const draft = await readDraft(deps.pool, importId);
    if (draft) {
      if (!mayOnDraft(caller, 'importUsers', draft)) throw permissionDenied();
      target.allow();
      answerDraft(res, draft);
    } else {
      const progress = await currentProgress(deps.pool, importId);
      target.allow(...progress.orgs.map(({ orgId }) => orgId));
      await answer(deps, req, res, progress);
    }
  } catch (error) {
    if (req.readableAborted) {
      const message = 'The upload was interrupted and nothing was imported. Send the request again.';
      throw new ApiError('ABORTED', 'IMPORT-ABORTED', message, { cause: error });
    }
    dropRest(req, res);
    throw error;
  } finally {
    stopWaiting();
  }
}

/** The id of the import that this request, or an earlier one with its idempotency key, has created. */
async function receive(deps: Deps, req: Request, caller: Caller): Promise<string> {
  const format = formatOf(req);
  const { strict, draft, source, options } = readQuery(commonQuery(req, format));
  const body = readBody(req);
  const pepper = readPepper(req);
  const rest = pepper === undefined ? format : JSON.stringify([format, pepper]);
  const keyed = keyedRequest(req, deps.secrets, caller.userId, '/admin/v1/import', rest);
  const recorded = keyed && (await findKey(deps.pool, keyed));
  if (recorded) return sameImport(deps, keyed, recorded, body);
  return newImport(deps, req, caller, body, {
    parser: parserFor(req, format),
    strict,
    source,
    keyed,
    pepper,
    stillAllowed: (db, orgIds) => requireRights(db, caller, orgIds),
    keepDraft: draft ? keepAsDraft(caller, parseDuration(deps.config.DRAFT_TTL) as number) : undefined,
    special: unusual({ ...options, webhook: await signedWebhook(deps, req, caller, options.webhook) }),
  });
}

async function newImport(
  deps: Deps,
  req: Request,
  caller: Caller,
  body: AsyncIterable<Buffer>,
  options: IntakeOptions,
): Promise<string> {
  refuseTooLarge(req, deps.config.MAX_IMPORT_BYTES);
  const { passwordSource } = { ...options.special };
  if (passwordSource !== undefined) await requireKnown(deps.pool, passwordSource);
  await (options.keepDraft ? requireFewDrafts(deps.pool, caller) : requireRoom(deps, caller));
  return receiveImport(deps, caller, body, options);
}

/**
 * The import recorded for the idempotency key.
 * @throws ApiError 409 when the key was used for another request
 */
async function sameImport(
  { config }: Deps,
  keyed: KeyedRequest,
  recorded: Recorded,
  body: AsyncIterable<Buffer>,
): Promise<string> {
  for await (const chunk of bounded(body, config.MAX_IMPORT_BYTES)) keyed.hash.update(chunk);
  requireSame(recorded, requestHashes(keyed));
  return recorded.importId;
}

function answerDraft(res: Response, draft: Draft): void {
  const { importId, state, counts, deadline, details } = draftProgress(draft);
  res.location(`/admin/v1/imports/${importId}`).status(202).json({ importId, state, counts, deadline, details });
}

async function answer(deps: Deps, req: Request, res: Response, accepted: ImportResult): Promise<void> {
  const { importId } = accepted;
  res.location(`/admin/v1/imports/${importId}`);
  const wait = preferredWait(req);
  const ended = wait > 0 ? await waitForEnd(deps, req, importId, wait * 1000) : undefined;
  if (ended) {
    res.set('preference-applied', `wait=${wait}`).json(await currentResult(deps.pool, importId));
    return;
  }
  const { state, counts, deadline, details } = wait > 0 ? await currentProgress(deps.pool, importId) : accepted;
  res.status(202).json({ importId, state, counts, deadline, details });
}

/** `Prefer: wait=N` of RFC 7240 section 4.3, in seconds; 0 without it. */
function preferredWait(req: Request): number {
  const match = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?/i.exec(req.get('prefer') ?? '');
  return match ? Math.min(Number(match[1]), MAX_WAIT_S) : 0;
}

async function waitForEnd(deps: Deps, req: Request, importId: string, ms: number): Promise<ImportResult | undefined> {
  const until = Date.now() + ms;
  req.socket.setTimeout(0); // the connection is idle while we wait
  while (Date.now() < until && !req.socket.destroyed) {
    const woken = deps.signal.next(importId, until - Date.now());
    const progress = await currentProgress(deps.pool, importId);
    if (isEnded(progress)) return progress;
    await woken;
  }
  const last = await currentProgress(deps.pool, importId);
  return isEnded(last) ? last : undefined;
}
