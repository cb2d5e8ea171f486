/** The screens of a machine user's personal access tokens. A token is shown once, in the answer to the form. */
import { type Request, type Response, Router } from 'express';
import { permissionDenied } from '../../access/caller.ts';
import { text } from '../../pages/fields.ts';
import type { ScreenDeps } from '../deps.ts';
import { onceBody } from '../page/once.ts';
import { type Refusal, refusalOf } from '../page/refusal.ts';
import { ONCE } from '../texts/frame.ts';
import { TOKENS } from '../texts/tokens.ts';
import { apiPath, type User, type UserAnswer } from '../users/shapes.ts';
import { visitOf } from '../visit.ts';
import { LIFETIMES, removeTokenBody, type Token, tokensBody, tokensPath } from './body.ts';

const TOKENS_OF = '/console/users/:userId/tokens';
const DAY_MS = 86_400_000;

export function tokenScreens(deps: ScreenDeps): Router {
  const router = Router();
  router.get(TOKENS_OF, (req, res) => list(deps, req, res));
  router.post(TOKENS_OF, (req, res) => add(deps, req, res));
  router.get(`${TOKENS_OF}/:tokenId/remove`, (req, res) => showRemoval(deps, req, res));
  router.post(`${TOKENS_OF}/:tokenId/remove`, (req, res) => remove(deps, req, res));
  return router;
}

/** The machine user with their tokens. @throws ApiError 403 as the API answers; also for a person, who has no tokens */
async function readTokens(req: Request, res: Response): Promise<{ user: User; tokens: Token[]; path: string }> {
  const { api } = visitOf(res);
  const userId = String(req.params.userId);
  const path = `/management/v1/users/${encodeURIComponent(userId)}/pats`;
  const { result } = await api.get<{ result: Token[] }>(path);
  const { user } = await api.get<UserAnswer>(apiPath(userId));
  if (!user.machine) throw permissionDenied();
  return { user, tokens: result, path };
}

async function list({ at, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const { user, tokens } = await readTokens(req, res);
  const days = visitOf(res).kept.days ?? '90';
  const body = tokensBody(at, user, tokens, days, refusal);
  show(req, res, { title: TOKENS.title, status: refusal?.status ?? 200, body });
}

async function add(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { at, show } = deps;
  const { user, path } = await readTokens(req, res);
  const days = Number(LIFETIMES.find((one) => one === text(req.body, 'days')) ?? LIFETIMES[0]);
  const expirationDate = new Date(Date.now() + days * DAY_MS).toISOString();
  try {
    const { tokenId, token } = await visitOf(res).api.send<{ tokenId: string; token: string }>(
      path,
      days > 0 ? { expirationDate } : {},
    );
    const back = { href: at(tokensPath(user.userId)), text: TOKENS.title };
    const values: [string, string][] = [
      [TOKENS.token, token],
      [TOKENS.id, tokenId],
    ];
    show(req, res, { title: ONCE.title, body: onceBody(ONCE.title, values, back) });
  } catch (error) {
    await list(deps, req, res, refusalOf(error));
  }
}

async function showRemoval({ at, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const { user } = await readTokens(req, res);
  const body = removeTokenBody(at, user, String(req.params.tokenId), refusal);
  show(req, res, { title: TOKENS.removeTitle, status: refusal?.status ?? 200, body });
}

async function remove(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { user, path } = await readTokens(req, res);
  try {
    const one = `${path}/${encodeURIComponent(String(req.params.tokenId))}`;
    await visitOf(res).api.send(one, {}, { method: 'DELETE' });
  } catch (error) {
    return showRemoval(deps, req, res, refusalOf(error));
  }
  res.redirect(303, deps.at(tokensPath(user.userId)));
}
