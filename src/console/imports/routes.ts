/** The screens of imports: the list, one import, and its actions. */
import { type Request, type Response, Router } from 'express';
import { WAYS } from '../../contract/sign-in.ts';
import { ApiError } from '../../platform/errors.ts';
import { text } from '../../platform/html/forms.ts';
import { ownValue } from '../../platform/text/names.ts';
import type { Api } from '../api.ts';
import { orgNames } from '../database.ts';
import type { ScreenDeps } from '../deps.ts';
import { mayAnywhere, sessionOf } from '../session.ts';
import { importOf, type Progress } from '../shapes.ts';
import { saidOnce } from '../shell/errors.ts';
import { openLive } from '../shell/live.ts';
import { UPLOAD_SCRIPTS } from '../shell/upload.ts';
import { ONE } from '../texts/import.ts';
import { ACTIONS } from '../texts/import-actions.ts';
import { IMPORTS } from '../texts/imports.ts';
import { userNames } from '../users/list.ts';
import { type ActionName, type ActionProblem, actionPage, doneText, fits, isActionName } from './actions.ts';
import { type ImportEvent, type ItemsFilter, onePage, oneState, showsCauses } from './import.ts';
import { listPage, listState, orgIdsOf } from './list.ts';

const PAGE_SIZE = 25;
const ITEMS = 50;
const EVENTS = [
  'import.accepted',
  'import.paused',
  'import.resumed',
  'import.cancelled',
  'import.retried',
  'import.item.corrected',
  'import.cause.fixed',
  'import.mails.released',
  'import.sign.in.mails.requested',
  'import.undo.started',
  'import.undone',
  'import.erased',
] as const;

type Run = (api: Api, one: { importId: string }, body: { timeout?: string; urlTemplate?: string }) => Promise<unknown>;

const RUNS: Readonly<Record<ActionName, Run>> = {
  pause: (api, one) => api.call('pauseImport', one),
  resume: (api, one, body) => api.call('resumeImport', one, { body }),
  retry: (api, one, body) => api.call('retryImport', one, { body }),
  sign_in_mails: (api, one, body) => api.call('sendSignInMails', one, { body }),
  send_mails: (api, one) => api.call('sendImportMails', one),
  cancel: (api, one) => api.call('cancelImport', one),
  undo: (api, one) => api.call('undoImport', one),
};

export function importScreens(deps: ScreenDeps): Router {
  const router = Router();
  const live = openLive();
  router.get('/console/imports', (req, res) => list(deps, req, res));
  router.get('/console/imports/live', (req, res) => {
    const { query } = listQuery(req);
    const name = `imports ${JSON.stringify(query)}`;
    return live.stream(res, name, async ({ api }) => listState((await api.call('listImports', { query })).imports));
  });
  router.get('/console/imports/:importId', (req, res) => one(deps, req, res));
  router.get('/console/imports/:importId/live', (req, res) => {
    const one = importOf(req);
    return live.stream(res, `import ${one.importId}`, async ({ api }) => {
      const [progress, { points }] = await Promise.all([api.call('getImport', one), api.call('getImportRates', one)]);
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

function listQuery(req: Request) {
  const names = ['state', 'drafts', 'dryRuns', 'orgId', 'from'] as const;
  const filter = Object.fromEntries(names.map((name) => [name, text(req.query, name)])) as Record<
    (typeof names)[number],
    string
  >;
  const { state, orgId, from } = filter;
  const drafts = filter.drafts === 'true' ? ({ drafts: 'true' } as const) : {};
  // A check is in the list below its import, and no import of a state.
  const dryRuns =
    filter.dryRuns === 'true' ? ({ dryRuns: 'true' } as const) : state ? ({ dryRuns: 'false' } as const) : {};
  return { filter, query: { ...given({ state, orgId, pageToken: from }), ...drafts, ...dryRuns, pageSize: PAGE_SIZE } };
}

/** Without the texts that are empty. */
function given<N extends string>(texts: Record<N, string>): { [K in N]?: string };
function given(texts: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== ''));
}

async function list({ consoleUrl, show, pool }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api, caller } = sessionOf(res);
  const { filter, query } = listQuery(req);
  const {
    imports,
    nextPageToken: next,
    counts,
  } = await api.call('listImports', { query: { ...query, counts: 'true' } });
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
  const result = await api.call('getImport', importOf(req));
  if (result.draft) return res.redirect(303, consoleUrl(`/imports/new/${result.importId}`));
  const filter: ItemsFilter = {
    state: text(req.query, 'state'),
    orgId: text(req.query, 'orgId'),
    query: text(req.query, 'query'),
    signIn: text(req.query, 'signIn'),
    signedIn: text(req.query, 'signedIn'),
    from: text(req.query, 'from'),
  };
  const { from: pageToken, signIn, signedIn, ...rest } = filter;
  const way = WAYS.find((one) => one === signIn);
  const has = (['true', 'false'] as const).find((one) => one === signedIn);
  const query = {
    ...given({ ...rest, pageToken }),
    ...(way ? { signIn: way } : {}),
    ...(has ? { signedIn: has } : {}),
    pageSize: ITEMS,
  };
  const isWritten = !result.dryRun && result.counts.succeeded > 0;
  const [{ points }, page, since, causes] = await Promise.all([
    api.call('getImportRates', importOf(req)),
    api.call('listImportItems', importOf(req), { query }),
    isWritten ? api.call('getImportSignIns', importOf(req)) : undefined,
    showsCauses(result) ? api.call('listImportCauses', importOf(req)) : undefined,
  ]);
  const events = mayAnywhere(caller, 'searchEvents') ? await readEvents(api, result) : [];
  const actors = new Set(events.flatMap(({ actor }) => actor.id ?? []).filter((id) => id !== caller.userId));
  const done = saidOnce(res);
  const body = onePage(consoleUrl, {
    result,
    points,
    causes,
    since,
    items: { items: page.items, next: page.nextPageToken, filter },
    events,
    nameOf: await userNames(api, [...actors]),
    names: await orgNames(pool, orgIdsOf([result])),
    userId: caller.userId,
    notice: isActionName(done) ? doneText(done, result, since?.mails) : undefined,
  });
  show(req, res, { title: ONE.title(result.importId), body, scripts: ['live.ts', 'rate-chart.ts'] });
}

/** The events of one import: the search has no filter for it, but its events begin with it and are few. */
async function readEvents(api: Api, { importId, details }: Progress): Promise<ImportEvent[]> {
  const body = { types: [...EVENTS], from: details.creationDate, asc: true, pageSize: 1000 };
  const { result } = await api.call('searchEvents', { body });
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
  const progress = await api.call('getImport', importOf(req));
  const preview = name === 'undo' && !progress.dryRun ? await api.call('previewImportUndo', importOf(req)) : undefined;
  const mailPreview =
    name === 'sign_in_mails' && fits(name, progress) ? await api.call('previewSignInMails', importOf(req)) : undefined;
  const causes =
    name === 'retry' && fits(name, progress) ? await api.call('listImportCauses', importOf(req)) : undefined;
  const fields = ['timeout', 'number', 'url'];
  const typed = problem ? Object.fromEntries(fields.map((one) => [one, text(req.body, one)])) : kept;
  const body = actionPage(consoleUrl, { name, progress, preview, mailPreview, causes, typed, problem });
  show(req, res, { title: ACTIONS[name].title, body, status: problem ? 400 : 200 });
}

async function act(deps: ScreenDeps, req: Request, res: Response, name: ActionName): Promise<void> {
  const id = String(req.params.importId);
  if (name === 'undo' && text(req.body, 'number').trim() !== id) {
    return showAction(deps, req, res, name, { field: 'number', message: ACTIONS.notConfirmed(id) });
  }
  const timeout = text(req.body, 'timeout').trim();
  const urlTemplate = text(req.body, 'url').trim();
  try {
    await RUNS[name](
      sessionOf(res).api,
      importOf(req),
      name === 'sign_in_mails' ? given({ urlTemplate }) : given({ timeout }),
    );
  } catch (error) {
    if (!(error instanceof ApiError) || error.http !== 400) throw error;
    const named = { 'IMPORT-TIMEOUT': 'timeout', 'URL-TEMPLATE-NOT-ALLOWED': 'url', 'IMPORT-ACTION': 'url' } as const;
    const wrong = ownValue(named, error.id);
    const field = wrong ? { field: wrong } : {};
    return showAction(deps, req, res, name, { ...field, message: error.message });
  }
  res.redirect(303, deps.consoleUrl(`/imports/${id}?done=${name}`));
}
