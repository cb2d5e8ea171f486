/** The screens of imports: the list, one import, and its actions. */
import { type Request, type Response, Router } from 'express';
import { ApiError } from '../../platform/errors.ts';
import { text } from '../../platform/html/forms.ts';
import type { Api } from '../api.ts';
import { orgNames } from '../database.ts';
import type { ScreenDeps } from '../deps.ts';
import { mayAnywhere, sessionOf } from '../session.ts';
import {
  type Item,
  importPath,
  type Progress,
  type RatePoint,
  type Result,
  type StateCounts,
  type UndoPreview,
} from '../shapes.ts';
import { saidOnce } from '../shell/errors.ts';
import { openLive } from '../shell/live.ts';
import { UPLOAD_SCRIPTS } from '../shell/upload.ts';
import { ONE } from '../texts/import.ts';
import { ACTIONS } from '../texts/import-actions.ts';
import { IMPORTS } from '../texts/imports.ts';
import { type ActionName, type ActionProblem, actionPage, isActionName, isTimed } from './actions.ts';
import { type ImportEvent, type ItemsFilter, onePage, oneState } from './import.ts';
import { listPage, listState, orgIdsOf } from './list.ts';

const PAGE_SIZE = 25;
const ITEMS = 50;
const EVENTS = [
  'accepted',
  'paused',
  'resumed',
  'cancelled',
  'retried',
  'item.corrected',
  'cause.fixed',
  'mails.released',
  'undo.started',
  'undone',
  'erased',
];

export function importScreens(deps: ScreenDeps): Router {
  const router = Router();
  const live = openLive();
  router.get('/console/imports', (req, res) => list(deps, req, res));
  router.get('/console/imports/live', (req, res) => {
    const query = listQuery(req).query;
    return live.stream(res, `imports?${query}`, async ({ api }) => listState((await readList(api, query)).imports));
  });
  router.get('/console/imports/:importId', (req, res) => one(deps, req, res));
  router.get('/console/imports/:importId/live', (req, res) => {
    const path = importPath(req);
    return live.stream(res, path, async ({ api }) => {
      const [progress, { points }] = await Promise.all([api.get<Progress>(path), readRates(api, path)]);
      return oneState(progress, points);
    });
  });
  router.get('/console/imports/:importId/:action', async (req, res, next) => {
    const name = String(req.params.action);
    if (!isActionName(name)) return next();
    await showAction(deps, req, res, name, undefined);
  });
  router.post('/console/imports/:importId/:action', async (req, res, next) => {
    const name = String(req.params.action);
    if (!isActionName(name)) return next();
    await act(deps, req, res, name);
  });
  return router;
}

function readRates(api: Api, path: string): Promise<{ points: RatePoint[] }> {
  return api.get(`${path}/rates`);
}

function listQuery(req: Request) {
  const filter = { state: text(req.query, 'state'), orgId: text(req.query, 'orgId'), from: text(req.query, 'from') };
  const { state, orgId, from: pageToken } = filter;
  const given = Object.entries({ state, orgId, pageToken }).filter(([, value]) => value);
  return { filter, query: String(new URLSearchParams([...given, ['pageSize', String(PAGE_SIZE)]])) };
}

function readList(
  api: Api,
  query: string,
): Promise<{ imports: Progress[]; nextPageToken: string; counts?: StateCounts }> {
  return api.get(`/admin/v1/imports?${query}`);
}

async function list({ consoleUrl, show, pool }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api, caller } = sessionOf(res);
  const { filter, query } = listQuery(req);
  const { imports, nextPageToken: next, counts } = await readList(api, `${query}&counts=true`);
  const own = caller.isIamOwner ? undefined : [...caller.orgRoles.keys()];
  const names = await orgNames(pool, [...orgIdsOf(imports), ...(own ?? [])]);
  const body = listPage(consoleUrl, {
    imports,
    next,
    filter,
    counts,
    names,
    choices: own,
    mayCreate: mayAnywhere(caller, 'createImport'),
  });
  show(req, res, { title: IMPORTS.title, body, scripts: UPLOAD_SCRIPTS });
}

async function one({ consoleUrl, show, pool }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api, caller } = sessionOf(res);
  const path = importPath(req);
  const result = await api.get<Result>(path);
  if (result.draft) return res.redirect(303, consoleUrl(`/imports/new/${result.importId}`));
  const filter: ItemsFilter = {
    state: text(req.query, 'state'),
    orgId: text(req.query, 'orgId'),
    query: text(req.query, 'query'),
    from: text(req.query, 'from'),
  };
  const { from: pageToken, state, ...rest } = filter;
  const given = Object.entries({ ...rest, state, pageToken }).filter(([, value]) => value);
  const query = new URLSearchParams([...given, ['pageSize', String(ITEMS)]]);
  const [{ points }, page] = await Promise.all([
    readRates(api, path),
    api.get<{ items: Item[]; nextPageToken: string }>(`${path}/items?${query}`),
  ]);
  const done = saidOnce(res);
  const body = onePage(consoleUrl, {
    result,
    points,
    items: { items: page.items, next: page.nextPageToken, filter },
    events: mayAnywhere(caller, 'searchEvents') ? await readEvents(api, result) : [],
    names: await orgNames(pool, orgIdsOf([result])),
    userId: caller.userId,
    notice: isActionName(done) ? ACTIONS[done].done : undefined,
  });
  show(req, res, { title: ONE.title(result.importId), body, scripts: ['live.ts'] });
}

/** The events of one import: the search has no filter for it, but its events begin with it and are few. */
async function readEvents(api: Api, { importId, details }: Progress): Promise<ImportEvent[]> {
  const { result } = await api.send<{ result: ImportEvent[] }>('/admin/v1/events/_search', {
    types: EVENTS.map((name) => `import.${name}`),
    from: details.creationDate,
    asc: true,
    pageSize: 1000,
  });
  return result.filter(({ object }) => object?.type === 'import' && object.id === importId);
}

async function showAction(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  name: ActionName,
  problem: ActionProblem | undefined,
): Promise<void> {
  const { api, kept } = sessionOf(res);
  const progress = await api.get<Progress>(importPath(req));
  const preview =
    name === 'undo' && !progress.dryRun ? await api.get<UndoPreview>(`${importPath(req)}/undo_preview`) : undefined;
  const typed = problem ? { timeout: text(req.body, 'timeout'), number: text(req.body, 'number') } : kept;
  const body = actionPage(consoleUrl, { name, progress, preview, typed, problem });
  show(req, res, { title: ACTIONS[name].title, body, status: problem ? 400 : 200 });
}

async function act(deps: ScreenDeps, req: Request, res: Response, name: ActionName): Promise<void> {
  const id = String(req.params.importId);
  if (name === 'undo' && text(req.body, 'number').trim() !== id) {
    return showAction(deps, req, res, name, { field: 'number', message: ACTIONS.notConfirmed(id) });
  }
  const timeout = text(req.body, 'timeout').trim();
  try {
    await sessionOf(res).api.send(`${importPath(req)}/_${name}`, isTimed(name) && timeout ? { timeout } : {});
  } catch (error) {
    if (!(error instanceof ApiError) || error.http !== 400) throw error;
    const field = error.id === 'IMPORT-TIMEOUT' ? { field: 'timeout' as const } : {};
    return showAction(deps, req, res, name, { ...field, message: error.message });
  }
  res.redirect(303, deps.consoleUrl(`/imports/${id}?done=${name}`));
}
