/** The screens of the administrators of the service: who may do everything. Only they see it. */
import { type Request, type Response, Router } from 'express';
import { requirePermission } from '../../access/caller.ts';
import { html } from '../../html.ts';
import { text } from '../../pages/fields.ts';
import type { ScreenDeps } from '../deps.ts';
import { notice } from '../page/blocks.ts';
import { type Refusal, refusalOf } from '../page/refusal.ts';
import { saidOnce } from '../page/said.ts';
import { ADMINISTRATORS } from '../texts/administrators.ts';
import { userNames } from '../users/names.ts';
import type { Page } from '../users/shapes.ts';
import { visitOf } from '../visit.ts';
import { type Administrator, listBody, PATH, removeBody } from './body.ts';

const ALL = `/console${PATH}`;
const API = '/admin/v1/members';
const MOST = 200;

export function administratorScreens(deps: ScreenDeps): Router {
  const router = Router();
  router.get(ALL, (req, res) => list(deps, req, res));
  router.post(ALL, (req, res) => add(deps, req, res));
  router.get(`${ALL}/:userId/remove`, (req, res) => showRemoval(deps, req, res));
  router.post(`${ALL}/:userId/remove`, (req, res) => remove(deps, req, res));
  return router;
}

async function list({ at, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const { api, caller, kept } = visitOf(res);
  const { details, result } = await api.send<Page<Administrator>>(`${API}/_search`, { query: { limit: MOST } });
  const ids = result.map(({ userId }) => userId);
  const body = listBody(
    at,
    {
      administrators: result,
      total: Number(details.totalResult),
      nameOf: await userNames(api, ids),
      self: caller.userId,
      userId: text(req.body, 'userId').trim() || (kept.userId ?? ''),
    },
    refusal,
  );
  const done = ADMINISTRATORS.done[saidOnce(res) as keyof typeof ADMINISTRATORS.done];
  show(req, res, {
    title: ADMINISTRATORS.title,
    status: refusal?.status ?? 200,
    body: html`${notice(done)}${body}`,
  });
}

async function add(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  requirePermission(visitOf(res).caller, 'addInstanceMember');
  try {
    await visitOf(res).api.send(API, { userId: text(req.body, 'userId').trim(), roles: ['IAM_OWNER'] });
    res.redirect(303, deps.at(`${PATH}?done=added`));
  } catch (error) {
    await list(deps, req, res, refusalOf(error, ['userId']));
  }
}

async function showRemoval({ at, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const { api, caller } = visitOf(res);
  requirePermission(caller, 'removeInstanceMember');
  const userId = String(req.params.userId);
  const name = (await userNames(api, [userId]))(userId);
  const body = removeBody(at, { userId, name, isSelf: userId === caller.userId }, refusal);
  show(req, res, { title: ADMINISTRATORS.removeTitle(name), status: refusal?.status ?? 200, body });
}

/** The API keeps the last administrator who can sign in. */
async function remove(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api, caller } = visitOf(res);
  const userId = String(req.params.userId);
  try {
    await api.send(`${API}/${encodeURIComponent(userId)}`, {}, { method: 'DELETE' });
  } catch (error) {
    return showRemoval(deps, req, res, refusalOf(error));
  }
  // Those who removed themselves may no longer see the list.
  res.redirect(303, deps.at(userId === caller.userId ? '/' : `${PATH}?done=removed`));
}
