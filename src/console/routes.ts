/**
 * The console: pages for people who run migrations and manage users, at `/console`.
 *
 * Guarantee: the browser gets a cookie and no token. Requests that change something come from our own pages. Every
 * route but the sign-in needs a session. Screens change data through the API only; what they read beside it is in
 * `database.ts`, and the mails of development are in `mailbox.ts`.
 */
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import { ACCOUNT_PATHS } from '../contract/own-clients.ts';
import { ApiError } from '../platform/errors.ts';
import { readForm, readLongForm } from '../platform/html/forms.ts';
import { timesScript } from '../platform/html/times.ts';
import { requireOurs, sameOrigin } from '../platform/http/origins.ts';
import { html } from '../platform/text/html.ts';
import { orgNames } from './database.ts';
import type { ConsoleDeps } from './deps.ts';
import { SCREENS, type Screen } from './screens.ts';
import {
  type ConsoleSession,
  type Cookies,
  findConsoleSession,
  type KeptForms,
  mayAnywhere,
  openCookies,
  openKeptForms,
  sessionEnded,
  sessionOf,
} from './session.ts';
import { messageBody } from './shell/blocks.ts';
import { consoleErrors, sayOnce, wantsPage } from './shell/errors.ts';
import { sendOnce } from './shell/send-once.ts';
import { type ConsolePage, openAt, openConsoleAssets, openShow } from './shell/show.ts';
import { signInRoutes } from './sign-in.ts';
import { NO_ROLE } from './texts/frame.ts';

export interface Console {
  /** Mount it at `/`, before `authenticate`. */
  routes: Router;
  /** Mount it at `/console`, after all routes. */
  errors: ErrorRequestHandler;
}

export function openConsole(deps: ConsoleDeps): Console {
  const { baseUrl } = deps.config;
  const consoleUrl = openAt(baseUrl);
  const accountUrl = baseUrl + ACCOUNT_PATHS.page;
  const assets = openConsoleAssets(consoleUrl);
  const cookies = openCookies(baseUrl);
  const keptForms = openKeptForms(deps.secrets, cookies);
  const scripts = [timesScript(baseUrl)];
  const show = openShow({ assets, consoleUrl, accountUrl, scripts, navigation: (res) => screensFor(res) });

  const screens = SCREENS.filter(({ isThere }) => isThere?.(deps) ?? true);

  /** The screens in the navigation of this person. */
  function screensFor(res: Response): Screen[] {
    const session = sessionOf(res);
    return session ? screens.filter(({ operation }) => mayAnywhere(session.caller, operation)) : [];
  }

  async function requireRole(req: Request, res: Response, next: () => void): Promise<void> {
    if (screensFor(res).length > 0) return next();
    const session = sessionOf(res);
    const organization = (await orgNames(deps.pool, [session.caller.orgId])).get(session.caller.orgId) ?? '';
    show(req, res, noRole(accountUrl, session, organization));
  }

  const router = Router();
  // A program gets the 401 of every path that needs a token.
  router.get('/', (req, res, next) => (wantsPage(req) ? res.redirect(303, consoleUrl('')) : next()));
  router.use('/console', sameOrigin(baseUrl));
  router.use(assets.routes);
  router.use(signInRoutes({ ...deps, cookies, show }));
  router.use(LONG_FORMS, readLongForm);
  router.use('/console', readForm, requireSession({ ...deps, cookies, keptForms }), sayOnce(cookies, consoleUrl));
  router.use('/console', sendOnce(cookies, consoleUrl));
  router.use('/console', requireRole);
  router.get('/console', (_req, res) => res.redirect(303, consoleUrl(screensFor(res)[0]?.path ?? '')));
  for (const screen of SCREENS) router.use(screen.routes({ ...deps, consoleUrl, show }));
  router.use('/console', noSuchPage);
  return { routes: router, errors: consoleErrors({ consoleUrl, show, keptForms, baseUrl, logger: deps.logger }) };
}

/** Pages with texts of thousands of characters: their forms are longer than others. */
const LONG_FORMS = /^\/console\/(?:organizations\/[^/]+|system)\/branding$/i;

/** Paths of the API that scripts of the console may call with the cookie, below `/console/api`. */
const API = /^\/console\/api(?=\/(?:admin|auth|management|v2beta)\/)/;

/**
 * Lets the console's scripts call the API with the cookie: `/console/api/admin/v1/…` is `/admin/v1/…` in the name of the
 * person who is signed in. Mount it before all routes of the API; the API decides as for every other caller.
 */
export function consoleApi(deps: Pick<ConsoleDeps, 'pool' | 'config' | 'api'>): RequestHandler {
  const cookies = openCookies(deps.config.baseUrl);
  const ours = new URL(deps.config.baseUrl).origin;
  return async (req, res, next) => {
    if (!API.test(req.url)) return next();
    requireOurs(req, ours);
    const session = await findConsoleSession({ ...deps, cookies }, req, res);
    if (!session) throw sessionEnded();
    res.locals.caller = session.caller;
    req.url = req.url.replace(API, '');
    next();
  };
}

/** Opens the session of a request; without one, a page leads to the sign-in. */
function requireSession({
  keptForms,
  ...deps
}: ConsoleDeps & { cookies: Cookies; keptForms: KeptForms }): RequestHandler {
  return async (req, res, next) => {
    const session = await findConsoleSession(deps, req, res);
    // Scripts open screens, never the entry, so that the entry can lead every caller to the page.
    if (!session && ['GET', 'HEAD'].includes(req.method) && (req.path === '/' || wantsPage(req))) {
      return res.redirect(303, `${deps.config.baseUrl}/console/sign-in?to=${encodeURIComponent(req.originalUrl)}`);
    }
    if (!session) throw sessionEnded();
    res.locals.session = { ...session, kept: keptForms.take(req, res) };
    next();
  };
}

/** The page for people who are signed in but see no screen: it says whom to ask. */
function noRole(accountUrl: string, { caller, tokens }: ConsoleSession, organization: string): ConsolePage {
  const more = html`<p>${NO_ROLE.ask(organization)}</p>
<p><code class="shown">${caller.userId}</code></p>
<p><a href="${accountUrl}">${NO_ROLE.account}</a></p>`;
  const body = messageBody({ heading: NO_ROLE.heading, message: NO_ROLE.signedInAs(tokens.name), more });
  return { title: NO_ROLE.title, status: 403, body };
}

function noSuchPage(): never {
  throw new ApiError('NOT_FOUND', 'CONSOLE-PATH', 'This page does not exist.');
}
