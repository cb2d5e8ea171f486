/**
 * The HTTP routes of imports: the import of one user, the bulk import, drafts, and for an import its actions,
 * corrections, results, events and reports.
 */
import { type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import type { ReportFormat } from '../contract/import-options.ts';
import type { ImportResult } from '../contract/import-types.ts';
import {
  fixBody,
  itemPatch,
  itemsQuery,
  listQuery,
  noBody,
  noQuery,
  reportQuery,
  resumeBody,
} from '../contract/imports.ts';
import {
  type Caller,
  callerOf,
  type OperationId,
  orgsFor,
  requirePermission,
  selectedOrg,
} from '../contract/permissions.ts';
import type { Hasher } from '../passwords/hasher.ts';
import type { Pool } from '../platform/db/pool.ts';
import type { Reads } from '../platform/db/replica.ts';
import { ApiError, invalidArgument } from '../platform/errors.ts';
import { sendText } from '../platform/http/answers.ts';
import { LARGE_BODY, parseBody, readJson } from '../platform/http/request-body.ts';
import { bulkRoutes } from './bulk-import.ts';
import {
  cancelImport,
  type NewTimeout,
  pauseImport,
  releaseMails,
  resumeImport,
  retryImport,
} from './control/control.ts';
import { previewUndo, undoImport } from './control/undo.ts';
import { draftProgress, findDraft, listDrafts, stateOf } from './drafts/draft.ts';
import { draftRoutes } from './drafts/routes.ts';
import { type ImportDeps, queryOf } from './entries/options.ts';
import { ACTIONS, isEnded, requireState, wrongState } from './entries/states.ts';
import { keyedRequest } from './intake/idempotency.ts';
import { readPepper } from './intake/pepper.ts';
import { openCausesReader } from './repair/causes.ts';
import { fixCause, fixItem, readItem } from './repair/fix.ts';
import { type Fixable, fixableImport } from './repair/fixable.ts';
import { fixableDraft } from './repair/fixable-draft.ts';
import { reportText } from './repair/report.ts';
import { importOne } from './single-import.ts';
import { readItems } from './status/items.ts';
import { countStates, listImports, readProgress } from './status/progress.ts';
import { readRates } from './status/rates.ts';
import { openStreamRights } from './status/stream-rights.ts';
import { type ImportSignal, openProgressWatch, type ProgressWatch, type Seen } from './status/watch.ts';
import { currentResult, fixes, previews, singles, streams, visibleImport, visibleResult } from './visible.ts';

/** A comment at this interval keeps proxies from closing an idle stream. */
const KEEP_ALIVE_MS = 15_000;
const READ_MS = 60_000;
const END = 'end';

const MEDIA: Record<ReportFormat, { type: string; ending: string }> = {
  ndjson: { type: 'application/x-ndjson; charset=utf-8', ending: 'ndjson' },
  csv: { type: 'text/csv; charset=utf-8; header=present', ending: 'csv' },
  dataorgs: { type: 'application/json; charset=utf-8', ending: 'json' },
};

/** Mount after authentication and before any body parser: the bulk import reads its body as a stream. */
export function importRoutes(
  deps: ImportDeps & { reads: Reads; signal: ImportSignal; hasher: Hasher; logger: Logger },
): Router {
  const router = Router();
  router.post('/management/v1/users/human/_import', async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'importHumanUser', orgId);
    // What a bulk import takes, such as `dryRun`, must not be ignored here.
    queryOf(noQuery, req);
    const pepper = readPepper(req);
    const rest = pepper === undefined ? orgId : JSON.stringify([orgId, pepper]);
    const keyed = keyedRequest(req, deps.secrets, caller.userId, '/management/v1/users/human/_import', rest);
    const body = await readJson(req, res, LARGE_BODY);
    if (Buffer.isBuffer(req.body)) keyed?.hash.update(req.body); // the bytes of the body
    const release = singles.take(caller);
    res.json(await importOne(deps, caller, orgId, body, { keyed, pepper }).finally(release));
  });
  return router
    .use(bulkRoutes(deps))
    .use(draftRoutes(deps))
    .use(readRoutes(deps))
    .use(reportRoutes(deps))
    .use(actionRoutes(deps))
    .use(fixRoutes(deps));
}

/** Reading imports: the list, one import with its result, its items, its rates, its events. */
function readRoutes({ pool, reads, logger }: { pool: Pool; reads: Reads; logger: Logger }): Router {
  const router = Router();
  const watch = openProgressWatch(pool, logger);
  const rights = openStreamRights(pool);
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
    const orgIds = current.orgs.map(({ orgId }) => orgId);
    const unwatch = rights.watch(callerOf(res), orgIds, () => res.end());
    await streamProgress(watch, req, res, current).finally(() => {
      unwatch();
      release();
    });
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

/**
 * Answers with the import as Server-Sent Events: its progress on each change, at most four times a second, until the
 * import ends; returns when the stream has ended.
 *
 * The last message is sent again as the event `end`. A browser's EventSource then connects again on its own; its
 * `Last-Event-ID` is the id of the end, and the answer 204 tells it to stop (HTML standard, section 9.2).
 *
 * Guarantee: a client that reads slowly gets fewer messages, the newest ones; it delays nobody, and takes the memory of
 * one message. A client that reads nothing is disconnected after READ_MS.
 */
export async function streamProgress(
  watch: ProgressWatch,
  req: Request,
  res: Response,
  first: ImportResult,
): Promise<void> {
  if (isEnded(first) && req.get('last-event-id') === END) {
    res.status(204).end();
    return;
  }
  res.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  const closed = new Promise<void>((resolve) => res.once('close', resolve));
  if (req.method === 'HEAD') res.end();
  const stop = sendChanges(watch, res, first);
  await closed;
  stop();
}

function sendChanges(watch: ProgressWatch, res: Response, first: ImportResult): () => void {
  let messages = 0;
  /** What could not be sent yet, as the client has not read the message before. */
  let waiting: string | undefined;
  let stalledAt: number | undefined;

  function send(seen: Seen | undefined): void {
    if (res.writableEnded) return;
    const message = seen ? `id: ${++messages}\ndata: ${seen.json}\n\n` : '';
    if (!seen || isEnded(seen.progress)) {
      res.end(seen && `${message}event: ${END}\nid: ${END}\ndata: ${seen.json}\n\n`);
    } else if (stalledAt === undefined) {
      write(message);
    } else {
      waiting = message;
    }
  }

  function write(text: string): void {
    if (!res.write(text)) stalledAt = Date.now();
  }

  res.on('drain', () => {
    stalledAt = undefined;
    if (waiting && !res.writableEnded) write(waiting);
    waiting = undefined;
  });
  const keepAlive = setInterval(() => {
    if (Date.now() - (stalledAt ?? Infinity) > READ_MS) res.destroy();
    else if (stalledAt === undefined && !res.writableEnded) write(': still here\n\n');
  }, KEEP_ALIVE_MS);
  const unwatch = watch.watch(first, send);
  return () => {
    clearInterval(keepAlive);
    unwatch();
  };
}

/** `GET …/report`: streams the report as a download, with its media type and file name. */
function reportRoutes({ pool, secrets, hasher }: ImportDeps & { hasher: Hasher }): Router {
  const deps = { pool, secrets, hash: oneAtATime(hasher.hash) };
  return Router().get('/admin/v1/imports/:importId/report', async (req, res) => {
    const of = await visibleImport(pool, 'getImportReport', req, res);
    const { format, state } = queryOf(reportQuery, req);
    const { type, ending } = MEDIA[format];
    res.set('Content-Type', type);
    res.set('Content-Disposition', `attachment; filename="import-${of.importId}.${ending}"`);
    if (req.method === 'HEAD') res.end();
    else await sendText(res, reportText(deps, of, format, state));
  });
}

/** All reports of the process together use at most one thread of the hasher, as logins need these threads too. */
function oneAtATime(hash: Hasher['hash']): Hasher['hash'] {
  let last: Promise<unknown> = Promise.resolve();
  return (plain) => {
    const next = last.then(() => hash(plain));
    last = next.catch(() => {}); // the caller handles the error
    return next;
  };
}

type Action = (pool: Pool, caller: Caller, importId: string) => Promise<void>;

type TimedAction = (pool: Pool, caller: Caller, importId: string, timeout: NewTimeout) => Promise<void>;

/** The actions on an import: cancel, pause, resume, retry, undo, send mails. Each answers with the new result. */
function actionRoutes({ pool, config }: ImportDeps): Router {
  const router = Router();
  const max = config.MAX_IMPORT_TIMEOUT;

  function plain(name: string, operation: OperationId, action: Action): void {
    router.post(`/admin/v1/imports/:importId/${name}`, async (req, res) => {
      const { importId } = await visibleImport(pool, operation, req, res);
      queryOf(noQuery, req);
      // Somebody who asks for a dry run of an undo must not get the undo.
      parseBody(noBody, await readJson(req, res), 'IMPORT-ACTION');
      await action(pool, callerOf(res), importId);
      res.json(await currentResult(pool, importId));
    });
  }

  function timed(name: string, operation: OperationId, action: TimedAction): void {
    router.post(`/admin/v1/imports/:importId/${name}`, async (req, res) => {
      const { importId } = await visibleImport(pool, operation, req, res);
      queryOf(noQuery, req);
      await action(pool, callerOf(res), importId, { timeout: await readTimeout(req, res), max });
      res.json(await currentResult(pool, importId));
    });
  }

  plain('_cancel', 'cancelImport', cancelImport);
  plain('_pause', 'pauseImport', pauseImport);
  timed('_resume', 'resumeImport', resumeImport);
  timed('_retry', 'retryImport', retryImport);
  plain('_undo', 'undoImport', undoImport);
  plain('_send_mails', 'sendImportMails', releaseMails);
  return router;
}

async function readTimeout(req: Request, res: Response): Promise<string | undefined> {
  const parsed = resumeBody.safeParse(await readJson(req, res));
  if (parsed.success) return parsed.data.timeout;
  const violations = parsed.error.issues.map((i) => ({ field: i.path.join('.'), description: i.message }));
  throw invalidArgument(
    'IMPORT-TIMEOUT',
    'The body must be an object whose only field is "timeout", a string.',
    violations,
  );
}

/**
 * Why users failed, one item for editing, and corrections: of one entry, or of all entries of a cause; of an import,
 * and of a draft after its check.
 */
function fixRoutes({ pool, secrets }: ImportDeps): Router {
  const router = Router();
  const causes = openCausesReader(pool);
  const deps = { pool, secrets };

  /** The import, or the draft after its check. @throws ApiError as `visibleImport`; 400 for a draft in another state */
  async function target(operation: OperationId, req: Request, res: Response): Promise<Fixable> {
    const draft = await findDraft(pool, operation, req, res);
    if (!draft) return fixableImport(deps, callerOf(res), await visibleImport(pool, operation, req, res));
    requireState(draft, 'fixDraft');
    const check = await readProgress(pool, draft.checkId as string);
    if (!check) throw wrongState(stateOf(draft), `${ACTIONS.fixDraft.done}, as its check was removed; check it again`);
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
