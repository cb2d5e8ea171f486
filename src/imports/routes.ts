/**
 * The HTTP routes of imports: the import of one user, the bulk import, drafts, and for an import its actions,
 * corrections, results, events and reports.
 */
import { type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { ReportFormat } from '../contract/import-options.ts';
import { itemPatch, type listQuery, resumeBody } from '../contract/import-requests.ts';
import type { ImportResult } from '../contract/import-types.ts';
import { importOperations as operations } from '../contract/imports.ts';
import type { Caller } from '../contract/permissions.ts';
import { type Asked, anOrg, type Finder, ownOrgs, serve, serveRaw } from '../contract/serve.ts';
import { signInMailOperations } from '../contract/sign-in-mails.ts';
import { requireAllowedTemplate } from '../directory/users/routes.ts';
import type { Hasher } from '../passwords/hasher.ts';
import type { Pool } from '../platform/db/pool.ts';
import type { Reads } from '../platform/db/replica.ts';
import { ApiError, invalidArgument } from '../platform/errors.ts';
import { sendText } from '../platform/http/answers.ts';
import { LARGE_BODY } from '../platform/http/parse.ts';
import { readJson } from '../platform/http/request-body.ts';
import { bulkRoutes } from './bulk-import.ts';
import {
  cancelImport,
  type NewTimeout,
  pauseImport,
  releaseMails,
  resumeImport,
  retryImport,
} from './control/control.ts';
import { previewSignInMails, sendSignInMails } from './control/sign-in-mails.ts';
import { previewUndo, undoImport } from './control/undo.ts';
import { draftProgress, findDraft, listDrafts, stateOf } from './drafts/draft.ts';
import { draftRoutes } from './drafts/routes.ts';
import type { ImportDeps } from './entries/options.ts';
import { ACTIONS, isEnded, requireState, wrongState } from './entries/states.ts';
import { keyedRequest } from './intake/idempotency.ts';
import { readPepper } from './intake/pepper.ts';
import { openCausesReader } from './repair/causes.ts';
import { fixCause, fixItem, readItem } from './repair/fix.ts';
import { type Fixable, type FixDeps, fixableDraft, fixableImport } from './repair/fixable.ts';
import { helpsOf } from './repair/helps.ts';
import { reportText } from './repair/report.ts';
import type { HashDeps } from './run/process-job.ts';
import { importOne } from './single-import.ts';
import { readSignIns } from './status/first-sign-ins.ts';
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
  serveRaw(router, operations.importHumanUser, anOrg, async ({ caller, target: orgId, req, res }) => {
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
  const target = visibleImport(pool);
  serve(router, operations.listImports, ownOrgs, (asked) => list(reads, asked));
  serve(router, operations.getImport, readFrom(reads, visibleResult), ({ target }) => target);
  serve(
    router,
    operations.listImportItems,
    readFrom(reads, async (db, asked) => visibleImport(db).find(asked)),
    async (asked) => {
      const { pageToken: from, ...filter } = asked.query;
      const page = await reads.run((db) => readItems(db, asked.target, { ...filter, from: Number(from ?? 0) }));
      return { items: page.items, nextPageToken: String(page.next ?? '') };
    },
  );
  serve(router, operations.getImportRates, target, async ({ target }) => ({
    points: await readRates(pool, target.importId),
  }));
  serve(
    router,
    operations.getImportSignIns,
    readFrom(reads, async (db, asked) => visibleImport(db).find(asked)),
    ({ target }) => reads.run((db) => readSignIns(db, target)),
  );
  serve(
    router,
    operations.previewImportUndo,
    target,
    ({ target, res }) => previewUndo(pool, target, () => !res.closed),
    previews,
  );
  serve(
    router,
    signInMailOperations.previewSignInMails,
    target,
    ({ target, res }) => previewSignInMails(pool, target, () => !res.closed),
    previews,
  );
  serve(
    router,
    operations.streamImportEvents,
    target,
    async ({ caller, target, req, res }) => {
      const orgIds = target.orgs.map(({ orgId }) => orgId);
      const unwatch = rights.watch(caller, orgIds, () => res.end());
      await streamProgress(watch, req, res, target).finally(unwatch);
    },
    streams,
  );
  return router;
}

/** Finds the target where reads are sent to. */
function readFrom<T>(reads: Reads, find: (db: Pool, asked: Asked) => Promise<T>): Finder<'import', T> {
  return { of: 'import', find: (asked) => reads.run((db) => find(db, asked)) };
}

interface AskedList extends Asked {
  target: string[] | undefined;
  query: z.output<typeof listQuery>;
}

async function list(reads: Reads, { caller, target: within, query }: AskedList) {
  const { pageSize: size, pageToken: before, state, orgId, drafts: wanted, dryRuns, counts } = query;
  const page = { pageSize: size, before };
  const of = within && { userId: caller.userId, within };
  const dryRun = dryRuns && dryRuns === 'true';
  const [started, drafts, counted] = await reads.run((db) =>
    Promise.all([
      wanted === 'true' ? [] : listImports(db, { within, ...page, state, orgId, dryRun }),
      // A draft has none of these states, is no dry run, and has perhaps no organization yet.
      state || orgId || dryRun || wanted === 'false' ? [] : listDrafts(db, { of, ...page }),
      counts === 'true' ? countStates(db, { of, orgId }) : undefined,
    ]),
  );
  const imports = [...started, ...drafts.map((draft) => draftProgress(draft))]
    .sort((a, b) => Number(b.importId) - Number(a.importId))
    .slice(0, size);
  const next = imports.length === size ? imports.at(-1)?.importId : undefined;
  return { imports, nextPageToken: next ?? '', ...(counted ? { counts: counted } : {}) };
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
  // The client left before: nothing would tell the end of the stream.
  if (res.closed) return;
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
  const hash = oneAtATime(hasher.hash);
  const deps: HashDeps = { pool, secrets, hash: async (plain, mark) => mark(await hash(plain)) };
  const router = Router();
  serve(router, operations.getImportReport, visibleImport(pool), async ({ target, query, req, res }) => {
    const { format, state } = query;
    const { type, ending } = MEDIA[format];
    res.set('Content-Type', type);
    res.set('Content-Disposition', `attachment; filename="import-${target.importId}.${ending}"`);
    if (req.method === 'HEAD') res.end();
    else await sendText(res, reportText(deps, target, format, state));
  });
  return router;
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
  const target = visibleImport(pool);
  const plain =
    (action: Action) =>
    async ({ caller, target: { importId } }: { caller: Caller; target: ImportResult }) => {
      await action(pool, caller, importId);
      return currentResult(pool, importId);
    };
  const timed =
    (action: TimedAction) =>
    async ({ caller, target: { importId }, req, res }: Omit<Asked, 'operation'> & { target: ImportResult }) => {
      await action(pool, caller, importId, { timeout: await readTimeout(req, res), max });
      res.json(await currentResult(pool, importId));
    };
  serve(router, operations.cancelImport, target, plain(cancelImport));
  serve(router, operations.pauseImport, target, plain(pauseImport));
  serveRaw(router, operations.resumeImport, target, timed(resumeImport));
  serveRaw(router, operations.retryImport, target, timed(retryImport));
  serve(router, operations.undoImport, target, plain(undoImport));
  serve(router, operations.sendImportMails, target, plain(releaseMails));
  serve(router, signInMailOperations.sendSignInMails, target, async ({ caller, target: { importId, orgs }, body }) => {
    const template = body.urlTemplate;
    for (const { orgId } of orgs) await requireAllowedTemplate({ pool, config }, orgId, 'urlTemplate', template);
    await sendSignInMails(pool, caller, importId, template);
    return currentResult(pool, importId);
  });
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
function fixRoutes({ pool, secrets, logger }: ImportDeps & { logger: Logger }): Router {
  const router = Router();
  const causes = openCausesReader(pool, logger);
  const deps = { pool, secrets };
  const target = correctable(deps);
  serve(router, operations.listImportCauses, target, ({ target }) =>
    causes.read(target.of, (found) => helpsOf(deps, target, found)),
  );
  serve(router, operations.getImportItem, target, ({ target, req }) =>
    readItem(deps, target, indexOf(req.params.index)),
  );
  serveRaw(router, operations.fixImportItem, target, async ({ target, req, res }) => {
    const body = itemPatch.safeParse(await readJson(req, res, LARGE_BODY));
    if (!body.success)
      throw invalidArgument('IMPORT-PATCH', 'The body must be a JSON object with fields of the entry.');
    res.json(await fixItem(deps, target, indexOf(req.params.index), body.data));
  });
  serve(router, operations.fixImport, target, async ({ caller, target, body }) => {
    if (body.remedy === 'user-name-as-email' && body.domain === undefined) throw noDomain();
    const release = fixes.take(caller);
    return fixCause(deps, target, body).finally(release);
  });
  return router;
}

/** The import, or the draft after its check. @throws ApiError as `visibleImport`; 400 for a draft in another state */
function correctable(deps: FixDeps): Finder<'import', Fixable> {
  const { pool } = deps;
  return {
    of: 'import',
    async find(asked) {
      const { caller, operation, req } = asked;
      const draft = await findDraft(pool, caller, operation, String(req.params.importId));
      if (!draft) return fixableImport(deps, caller, await visibleImport(pool).find(asked));
      requireState(draft, 'fixDraft');
      const check = await readProgress(pool, draft.checkId as string);
      if (!check)
        throw wrongState(stateOf(draft), `${ACTIONS.fixDraft.done}, as its check was removed; check it again`);
      return fixableDraft(deps, caller, draft, check);
    },
  };
}

function indexOf(text: unknown): number {
  if (/^\d{1,9}$/.test(String(text))) return Number(text);
  throw new ApiError('NOT_FOUND', 'IMPORT-ITEM-NOT-FOUND', 'The import has no item with this index.');
}

function noDomain(): ApiError {
  const description = 'is required by the remedy user-name-as-email';
  return invalidArgument('IMPORT-FIX', `domain ${description}.`, [{ field: 'domain', description }]);
}
