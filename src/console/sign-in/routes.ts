/**
 * Signing in to the console and out of it.
 *
 * Guarantee: a sign-in ends in the browser that began it, by an encrypted cookie with the state, and leads to an address
 * of the console only. Signing out ends the session here, its token, and the login in the browser.
 */
import { type Request, type Response, Router } from 'express';
import * as oidc from 'openid-client';
import { modelKey } from '../../identity/oauth/token-key.ts';
import { text } from '../../pages/fields.ts';
import type { ConsoleDeps } from '../deps.ts';
import { messageBody } from '../page/parts.ts';
import type { Show } from '../page/show.ts';
import { SIGN_IN } from '../texts/sign-in.ts';
import { type Authorization, openAuthorization, type Started } from './authorization.ts';
import type { Cookies } from './cookies.ts';
import { opened } from './kept-form.ts';
import { addSession, findSession, removeSession } from './session-store.ts';

const PURPOSE = 'console-login';
const LOGIN_S = 3600;
/** How old a sign-in may be where one is asked for again: most of the time in which it counts as recent is left. */
const FRESH_S = 60;
/** A path of the console, with a query; nothing that a browser reads as another host, and no way out by `..`. */
const OWN_PATH = /^(?!.*(?:\.|%2e){2})\/console(?:[/?][\w\-./?=&%~:+,@]*)?$/;

interface Login extends Started {
  to: string;
}

export type SignInDeps = ConsoleDeps & { cookies: Cookies; show: Show };

/** Mount it before the routes that need a session. */
export function signInRoutes(deps: SignInDeps): Router {
  const authorization = openAuthorization(deps);
  const router = Router();
  router.get('/console/sign-in', (req, res) => signIn(deps, authorization, req, res));
  router.get('/console/callback', (req, res) => callback(deps, authorization, req, res));
  router.get('/console/signed-out', (req, res) => {
    deps.show(req, res, { title: SIGN_IN.outTitle, body: messageBody({ ...SIGN_IN.out, link: again(deps) }) });
  });
  router.post('/console/sign-out', (req, res) => signOut(deps, authorization, req, res));
  return router;
}

async function signIn(
  { cookies, secrets }: SignInDeps,
  authorization: Authorization,
  req: Request,
  res: Response,
): Promise<void> {
  const asked = text(req.query, 'to');
  const { started, url } = await authorization.begin(text(req.query, 'again') === '' ? undefined : FRESH_S);
  const login: Login = { ...started, to: OWN_PATH.test(asked) ? asked : '/console' };
  cookies.set(res, 'console_login', secrets.seal(JSON.stringify(login), PURPOSE), LOGIN_S);
  res.redirect(303, url);
}

async function callback(deps: SignInDeps, authorization: Authorization, req: Request, res: Response): Promise<void> {
  const { cookies, secrets, config, pool, show } = deps;
  const sealed = cookies.read(req, 'console_login');
  const login = sealed === undefined ? undefined : opened<Login>(secrets, sealed, PURPOSE);
  const at = req.originalUrl.indexOf('?');
  const tokens = login && (await authorization.finish(at < 0 ? '' : req.originalUrl.slice(at), login).catch(orRefused));
  if (!tokens) {
    const body = messageBody({ ...SIGN_IN.failed, link: again(deps) });
    return show(req, res, { title: SIGN_IN.failedTitle, body, status: 400 });
  }
  cookies.clear(res, 'console_login');
  cookies.set(res, 'console', await addSession(pool, tokens));
  res.redirect(303, config.baseUrl + login.to);
}

/** For an answer that is not a sign-in of this browser: expired, cancelled, or made up. */
function orRefused(error: unknown): undefined {
  const isRefusal =
    error instanceof oidc.ClientError ||
    error instanceof oidc.AuthorizationResponseError ||
    error instanceof oidc.ResponseBodyError;
  if (!isRefusal) throw error;
}

async function signOut(
  { cookies, pool, config }: SignInDeps,
  authorization: Authorization,
  req: Request,
  res: Response,
): Promise<void> {
  const cookie = cookies.read(req, 'console');
  const tokens = cookie === undefined ? undefined : await findSession(pool, cookie);
  cookies.clear(res, 'console');
  if (!cookie || !tokens) return res.redirect(303, `${config.baseUrl}/console/signed-out`);
  await removeSession(pool, cookie);
  await pool.query('delete from oauth_models where id_hash = $1', [modelKey('AccessToken', tokens.accessToken)]);
  res.redirect(303, authorization.endUrl(tokens.idToken));
}

function again({ config }: SignInDeps): { href: string; text: string } {
  return { href: `${config.baseUrl}/console/sign-in`, text: SIGN_IN.again };
}
