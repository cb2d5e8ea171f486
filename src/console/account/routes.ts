/**
 * Where a person is signed in, and the applications that hold tokens for them: `/console/account`, for everybody who can
 * sign in, with or without a role.
 *
 * Guarantee: to end one needs a sign-in within the last minutes, as for every change of what protects an account; the API
 * decides. A person whose sign-in is older signs in again, and then chooses.
 */
import { type Request, type Response, Router } from 'express';
import { ApiError } from '../../errors.ts';
import { text } from '../../pages/fields.ts';
import type { ScreenDeps } from '../deps.ts';
import { saidOnce } from '../page/said.ts';
import { ACCOUNT } from '../texts/account.ts';
import { visitOf } from '../visit.ts';
import { accountBody, type Login } from './body.ts';

const SAID: Readonly<Record<string, string>> = {
  ended: ACCOUNT.ended,
  others: ACCOUNT.endedOthers,
  again: ACCOUNT.again,
};

/** Mount it behind the session, but before roles are required. */
export function accountScreens({ show, at, config }: ScreenDeps): Router {
  const router = Router();
  router.get('/console/account', async (req, res) => {
    const { result } = await visitOf(res).api.get<{ result: Login[] }>(loginsOf(res));
    show(req, res, {
      title: ACCOUNT.title,
      body: accountBody({ at, baseUrl: config.baseUrl }, result, SAID[saidOnce(res)]),
    });
  });
  router.post('/console/account/end', async (req, res) => {
    const path = `${loginsOf(res)}/${encodeURIComponent(loginId(req))}`;
    await after(res, () => visitOf(res).api.send(path, {}, { method: 'DELETE' }), 'ended');
  });
  router.post('/console/account/end-others', async (_req, res) => {
    const end = () => visitOf(res).api.send(loginsOf(res), { keepCurrent: true }, { method: 'DELETE' });
    await after(res, end, 'others');
  });
  return router;

  async function after(res: Response, end: () => Promise<unknown>, done: string): Promise<void> {
    try {
      await end();
    } catch (error) {
      const id = error instanceof ApiError ? error.id : '';
      if (id === 'AUTH-SIGN-IN-AGAIN') return res.redirect(303, at(`/sign-in?${AGAIN}`));
      // Somebody else was faster.
      if (id !== 'LOGIN-NOT-FOUND') throw error;
    }
    res.redirect(303, at(`/account?done=${done}`));
  }
}

const AGAIN = new URLSearchParams({ again: 'yes', to: '/console/account?done=again' });

function loginsOf(res: Response): string {
  return `/v2beta/users/${encodeURIComponent(visitOf(res).caller.userId)}/logins`;
}

/** Never empty: without an id, the address would be that of all logins. */
function loginId(req: Request): string {
  const id = text(req.body, 'loginId');
  if (id === '') throw new ApiError('INVALID_ARGUMENT', 'CONSOLE-LOGIN', 'The form names no sign-in.');
  return id;
}
