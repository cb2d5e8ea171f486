/** The HTTP face of imports: paths, permissions and shapes of contract sections 3 and 4; the work is in the files beside. */
import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import { ApiError, invalidArgument } from '../errors.ts';
import { readJson } from '../http/json-body.ts';
import {
  type Caller,
  callerOf,
  hasOrgRole,
  permissionDenied,
  requireOrgRole,
  selectedOrg,
} from '../identity/caller.ts';
import { text } from '../users/fields.ts';
import { parserFor, readBody, readQuery } from './body.ts';
import { cancelImport, resumeImport } from './control.ts';
import type { ImportDeps } from './deps.ts';
import { streamProgress } from './events-stream.ts';
import { receiveImport } from './intake.ts';
import { ITEM_STATES, readItems } from './items-page.ts';
import { type ImportResult, isEnded, listImports, readProgress } from './progress.ts';
import { readResult } from './result.ts';
import type { ImportSignal } from './signal.ts';
import { importOne } from './single.ts';

type Deps = ImportDeps & { signal: ImportSignal };

const MAX_WAIT_S = 600;
/** After a refusal the rest of the body is read and dropped for this long, so that the client sees the answer. */
const DRAIN_MS = 10_000;

/** Mounted behind the authentication, before any body parser. */
export function importRoutes(deps: Deps): Router {
  const router = Router();
  router.post('/management/v1/users/human/_import', async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requireOrgRole(caller, orgId, ['ORG_OWNER']);
    res.json(await importOne(deps, caller, orgId, await readJson(req, res)));
  });
  router.post('/admin/v1/import', (req, res) => bulkImport(deps, req, res));
  router.get('/admin/v1/imports', (req, res) => list(deps, req, res));
  router.get('/admin/v1/imports/:importId', async (req, res) => {
    res.json(await readResult(deps.pool, await visibleImport(deps, req, res)));
  });
  router.get('/admin/v1/imports/:importId/items', (req, res) => items(deps, req, res));
  router.get('/admin/v1/imports/:importId/events', async (req, res) => {
    await streamProgress(deps.pool, req, res, await visibleImport(deps, req, res));
  });
  router.post('/admin/v1/imports/:importId/_cancel', async (req, res) => {
    const { importId } = await visibleImport(deps, req, res);
    await cancelImport(deps.pool, callerOf(res), importId);
    res.json(await currentResult(deps, importId));
  });
  router.post('/admin/v1/imports/:importId/_resume', async (req, res) => {
    const { importId } = await visibleImport(deps, req, res);
    const timeout = readTimeout(await readJson(req, res));
    await resumeImport(deps.pool, callerOf(res), importId, timeout, deps.config.MAX_IMPORT_TIMEOUT);
    res.json(await currentResult(deps, importId));
  });
  return router;
}

function readTimeout(body: unknown): string | undefined {
  const parsed = z.object({ timeout: z.string('must be a string').optional() }).safeParse(body);
  if (parsed.success) return parsed.data.timeout;
  const violations = parsed.error.issues.map((i) => ({ field: i.path.join('.'), description: i.message }));
  throw invalidArgument('IMPORT-TIMEOUT', 'The body must be an object with a "timeout" at most.', violations);
}

// --- bulk ----------------------------------------------------------------------------------------------------------

async function bulkImport(deps: Deps, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  try {
    if (!ownsAny(caller)) throw permissionDenied();
    refuseUnbuilt(req);
    const { strict } = readQuery(req.query);
    const importId = await receiveImport(deps, caller, readBody(req), { parser: parserFor(req), strict });
    await answer(deps, req, res, importId);
  } catch (error) {
    if (req.readableAborted || (error as { code?: string }).code === 'ECONNRESET') {
      throw new ApiError('ABORTED', 'IMPORT-ABORTED', 'The upload was cut off; nothing of it was kept.', {
        cause: error,
      });
    }
    dropRest(req, res);
    throw error;
  }
}

/** A caller who owns no organization cannot own those of the body. */
function ownsAny(caller: Caller): boolean {
  return caller.isIamOwner || [...caller.orgRoles.keys()].some((orgId) => hasOrgRole(caller, orgId, ['ORG_OWNER']));
}

function refuseUnbuilt(req: Request): void {
  if (req.get('idempotency-key') === undefined) return;
  throw new ApiError('UNIMPLEMENTED', 'IMPORT-IDEMPOTENCY', 'Idempotency-Key is not built yet.');
}

function dropRest(req: Request, res: Response): void {
  if (req.readableEnded) return;
  if (!res.headersSent) res.set('connection', 'close');
  req.unpipe();
  req.resume();
  const timer = setTimeout(() => req.destroy(), DRAIN_MS).unref();
  req.on('close', () => clearTimeout(timer));
}

async function answer(deps: Deps, req: Request, res: Response, importId: string): Promise<void> {
  res.location(`/admin/v1/imports/${importId}`);
  const wait = preferredWait(req);
  const ended = wait > 0 ? await waitForEnd(deps, req, importId, wait * 1000) : undefined;
  if (ended) {
    res.set('preference-applied', `wait=${wait}`).json(await readResult(deps.pool, ended));
    return;
  }
  const { state, counts, deadline, details } = await currentProgress(deps, importId);
  res.status(202).json({ importId, state, counts, deadline, details });
}

/** RFC 7240 section 4.3; seconds, 0 when it was not asked for. */
function preferredWait(req: Request): number {
  const match = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?/i.exec(req.get('prefer') ?? '');
  return match ? Math.min(Number(match[1]), MAX_WAIT_S) : 0;
}

async function waitForEnd(deps: Deps, req: Request, importId: string, ms: number): Promise<ImportResult | undefined> {
  const until = Date.now() + ms;
  req.socket.setTimeout(0); // nothing is sent meanwhile, and that is no fault
  while (Date.now() < until && !req.socket.destroyed) {
    const woken = deps.signal.next(importId, until - Date.now());
    const progress = await currentProgress(deps, importId);
    if (isEnded(progress)) return progress;
    await woken;
  }
  const last = await currentProgress(deps, importId);
  return isEnded(last) ? last : undefined;
}

// --- reading -------------------------------------------------------------------------------------------------------

/** @throws ApiError 403 unless the caller owns every organization of the import; 404 for an IAM_OWNER when it is missing */
async function visibleImport(deps: Deps, req: Request, res: Response): Promise<ImportResult> {
  const caller = callerOf(res);
  const progress = await readProgress(deps.pool, String(req.params.importId));
  if (!progress) {
    if (!caller.isIamOwner) throw permissionDenied();
    throw new ApiError('NOT_FOUND', 'IMPORT-NOT-FOUND', 'The import does not exist.');
  }
  if (!progress.orgs.every((o) => hasOrgRole(caller, o.orgId, ['ORG_OWNER']))) throw permissionDenied();
  return progress;
}

async function currentProgress(deps: Deps, importId: string): Promise<ImportResult> {
  const progress = await readProgress(deps.pool, importId);
  if (!progress) throw new ApiError('NOT_FOUND', 'IMPORT-NOT-FOUND', 'The import does not exist.');
  return progress;
}

async function currentResult(deps: Deps, importId: string): Promise<Record<string, unknown>> {
  return readResult(deps.pool, await currentProgress(deps, importId));
}

const pageToken = z
  .string()
  .regex(/^\d{1,18}$/, 'is not a page token of this list')
  .optional();
const pageSize = (max: number) => z.coerce.number('must be a number').int('must be whole').min(1).max(max);

const listQuery = z.strictObject({ pageSize: pageSize(100).default(50), pageToken });
const itemsQuery = z.strictObject({
  state: z
    .string()
    .transform((s) => s.replace(/^ITEM_STATE_/, ''))
    .pipe(z.enum(ITEM_STATES, `must be one of ${ITEM_STATES.map((s) => `ITEM_STATE_${s}`).join(', ')}`))
    .optional(),
  orgId: text(200).optional(),
  userId: text(200).optional(),
  pageSize: pageSize(1000).default(100),
  pageToken,
});

function query<T>(schema: z.ZodType<T>, req: Request): T {
  const parsed = schema.safeParse(req.query);
  if (parsed.success) return parsed.data;
  const violations = parsed.error.issues.flatMap((i) =>
    i.code === 'unrecognized_keys'
      ? i.keys.map((field) => ({ field, description: 'is not a known query parameter' }))
      : [{ field: i.path.join('.'), description: i.message }],
  );
  throw invalidArgument('IMPORT-QUERY', `Bad query: ${violations.map((v) => v.field).join(', ')}`, violations);
}

async function list(deps: Deps, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  if (!ownsAny(caller)) throw permissionDenied();
  const { pageSize: size, pageToken: before } = query(listQuery, req);
  const owned = [...caller.orgRoles.keys()].filter((orgId) => hasOrgRole(caller, orgId, ['ORG_OWNER']));
  const within = caller.isIamOwner ? undefined : owned;
  const imports = await listImports(deps.pool, { within, pageSize: size, before });
  const next = imports.length === size ? imports.at(-1)?.importId : undefined;
  res.json({ imports, ...(next ? { nextPageToken: next } : {}) });
}

async function items(deps: Deps, req: Request, res: Response): Promise<void> {
  const progress = await visibleImport(deps, req, res);
  const { pageToken: from, ...filter } = query(itemsQuery, req);
  const page = await readItems(deps.pool, progress, { ...filter, from: Number(from ?? 0) });
  res.json({ items: page.items, ...(page.next !== undefined ? { nextPageToken: String(page.next) } : {}) });
}
