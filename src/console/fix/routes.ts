/** Fixing an import: its causes, the users of a cause with editable cells, a remedy for all of them. */
import { type Request, type Response, Router } from 'express';
import { ApiError } from '../../errors.ts';
import type { Causes, CountedCause, FixAnswer, ItemView, ItemWithEntry } from '../../imports/answers.ts';
import { causesOf } from '../../imports/fix/cause.ts';
import { text } from '../../pages/fields.ts';
import type { Api } from '../api.ts';
import type { ScreenDeps } from '../deps.ts';
import type { Draft } from '../new-import/shapes.ts';
import { FIX } from '../texts/fix.ts';
import { visitOf } from '../visit.ts';
import { causesPage } from './causes-page.ts';
import { type Cell, cellsPage } from './cells-page.ts';
import { remedyPage } from './remedy-page.ts';
import { editableField, patchOf, textIn } from './shapes.ts';

const ROWS = 25;
/** Failed users that are read at most to find those of a cause. */
const PAGES = 10;
const PAGE_SIZE = 1000;

export function fixScreens(deps: ScreenDeps): Router {
  const { show, at } = deps;
  const router = Router();
  router.get('/console/imports/:importId/fix', async (req, res) => {
    const id = String(req.params.importId);
    const { api } = visitOf(res);
    const [causes, { isDraft }] = await Promise.all([readCauses(api, req), readOutcomes(api, req)]);
    show(req, res, { title: FIX.title(id), body: causesPage(at, id, causes, isDraft) });
  });
  router.get('/console/imports/:importId/fix/:cause', (req, res) => cells(deps, req, res));
  router.post('/console/imports/:importId/fix/:cause', (req, res) => cells(deps, req, res));
  router.get('/console/imports/:importId/fix/:cause/:remedy', (req, res) => remedy(deps, req, res));
  router.post('/console/imports/:importId/fix/:cause/:remedy', (req, res) => apply(deps, req, res));
  return router;
}

function pathOf(req: Request): string {
  return `/admin/v1/imports/${encodeURIComponent(String(req.params.importId))}`;
}

function readCauses(api: Api, req: Request): Promise<Causes> {
  return api.get(`${pathOf(req)}/causes`);
}

/** Where the outcomes of users are: of a draft, in the dry run of its check. */
async function readOutcomes(api: Api, req: Request): Promise<{ isDraft: boolean; path: string }> {
  const { draft } = await api.get<Partial<Draft>>(pathOf(req));
  return {
    isDraft: draft !== undefined,
    path: draft?.check ? `/admin/v1/imports/${draft.check.importId}` : pathOf(req),
  };
}

/** Undefined when nobody fails for it any more: then the list of causes is shown instead. */
function causeOf({ causes }: Causes, req: Request): CountedCause | undefined {
  return causes.find(({ cause }) => cause === req.params.cause);
}

function listPath(req: Request): string {
  return `/imports/${String(req.params.importId)}/fix`;
}

/** Saves what was typed, if the request is a form, and shows the users. Those that were just corrected stay in view. */
async function cells({ at, show }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api, kept } = visitOf(res);
  const before = await readCauses(api, req);
  const cause = causeOf(before, req);
  if (!cause) return res.redirect(303, at(listPath(req)));
  const field = editableField(cause);
  if (!field) throw new ApiError('FAILED_PRECONDITION', 'CONSOLE-FIX', FIX.noEdit);
  const from = Number(/^\d{1,9}$/.exec(text(req.query, 'from'))?.[0] ?? 0);
  const { isDraft, path } = await readOutcomes(api, req);
  const { items, next } = await itemsOf(api, path, cause.cause, from);
  const typed = req.method === 'POST' ? (req.body as Record<string, unknown>) : kept;
  const rows: Cell[] = [];
  for (const { index, userName, userId } of items) {
    const { entry } = await api.get<ItemWithEntry>(`${pathOf(req)}/items/${index}`);
    const old = textIn(entry, field);
    const value = typeof typed[`v${index}`] === 'string' ? (typed[`v${index}`] as string) : old;
    const isNew = req.method === 'POST' && value !== old;
    rows.push({ index, userName, userId, value, ...(isNew ? await save(api, req, index, field, value) : {}) });
  }
  const { corrected } = req.method === 'POST' ? await readCauses(api, req) : before;
  const body = cellsPage(at, {
    importId: String(req.params.importId),
    cause,
    field,
    cells: rows,
    next,
    corrected,
    isDraft,
  });
  show(req, res, { title: FIX.title(String(req.params.importId)), body, scripts: ['fix-cells.ts'] });
}

async function save(
  api: Api,
  req: Request,
  index: number,
  field: string,
  value: string,
): Promise<{ problem?: string; isGood?: boolean }> {
  try {
    await api.send(`${pathOf(req)}/items/${index}`, patchOf(field, value), { method: 'PATCH' });
    return { isGood: true };
  } catch (error) {
    if (!(error instanceof ApiError) || error.http >= 500 || error.http === 401 || error.http === 403) throw error;
    return { problem: error.violations.map(({ description }) => description).join('; ') || error.message };
  }
}

/** The next users of a cause, from an index on. */
async function itemsOf(
  api: Api,
  path: string,
  cause: string,
  from: number,
): Promise<{ items: ItemView[]; next: number | undefined }> {
  const items: ItemView[] = [];
  let token = String(from);
  for (let page = 0; page < PAGES && token !== ''; page++) {
    const query = `state=FAILED&pageSize=${PAGE_SIZE}&pageToken=${token}`;
    const read = await api.get<{ items: ItemView[]; nextPageToken: string }>(`${path}/items?${query}`);
    for (const item of read.items) {
      const isOfCause = causesOf((item.error as Parameters<typeof causesOf>[0]) ?? null).some((c) => c.cause === cause);
      if (isOfCause && items.length === ROWS) return { items, next: item.index };
      if (isOfCause) items.push(item);
    }
    token = read.nextPageToken;
  }
  return { items, next: token === '' ? undefined : Number(token) };
}

async function remedy({ at, show }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api, kept } = visitOf(res);
  const cause = causeOf(await readCauses(api, req), req);
  if (!cause) return res.redirect(303, at(listPath(req)));
  const remedy = String(req.params.remedy);
  const domain = text(req.query, 'domain') || (kept.domain ?? '');
  const isReady = remedy !== 'user-name-as-email' || domain !== '';
  let problem: string | undefined;
  let preview: FixAnswer | undefined;
  try {
    const body = { cause: cause.cause, remedy, dryRun: true, ...(domain ? { domain } : {}) };
    preview = isReady ? await api.send<FixAnswer>(`${pathOf(req)}/_fix`, body) : undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.http !== 400) throw error;
    problem = error.message;
  }
  const body = remedyPage(at, { importId: String(req.params.importId), cause, remedy, domain, preview, problem });
  show(req, res, { title: FIX.title(String(req.params.importId)), body, status: problem ? 400 : 200 });
}

/** One call works for some seconds at most; then it continues where it ended. */
async function apply({ at }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api } = visitOf(res);
  const domain = text(req.body, 'domain');
  const body = { cause: req.params.cause, remedy: req.params.remedy, ...(domain ? { domain } : {}) };
  let next: number | null = 0;
  while (next !== null && !res.closed) {
    const done: FixAnswer = await api.send<FixAnswer>(`${pathOf(req)}/_fix`, {
      ...body,
      ...(next ? { from: next } : {}),
    });
    next = done.next;
  }
  res.redirect(303, at(listPath(req)));
}
