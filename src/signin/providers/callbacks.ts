/**
 * Where external providers send browsers back to: `/ui/idps/{idpId}/callback`, and the paths of old systems that the
 * settings of providers name (`callbackPaths`).
 *
 * Guarantee: an answer in a form, as Apple sends it, is answered with a redirect to the same path, because only then does
 * the browser send the cookie of its visit (`SameSite=Lax`). It comes from another site by design: what it may do is
 * bound to `state` and the cookie. The page about an answer that is refused says nothing of it.
 */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { ACCOUNT_PATHS } from '../../contract/own-clients.ts';
import type { Db } from '../../platform/db/pool.ts';
import { pageErrors } from '../../platform/html/errors.ts';
import { readForm } from '../../platform/html/forms.ts';
import { type HtmlPage, problemPage, sendPage } from '../../platform/html/layout.ts';
import { say } from '../../platform/messages/catalogue.ts';
import { type Answer, type Answered, answerTrip, browserOf, type TripDeps, type TripResult } from './round-trip.ts';

export interface CallbackDeps extends TripDeps {
  /** What came of an intent: the one user who has the account, for the success URL. */
  concludeIntent?: (result: TripResult) => Promise<string | undefined>;
}

/** Mount it at `/`, after the API's own paths, before what refuses forms of other sites. */
export function callbackRoutes(deps: CallbackDeps): Router {
  const router = Router();
  const own = '/ui/idps/:idpId/callback';
  router.get(own, (req, res) => comeBack(deps, req, res, String(req.params.idpId)));
  router.post(own, readForm, asQuery);
  const isOld = oldPaths(deps.pool);
  router.use(async (req, res, next) => {
    const isAnswer = req.method === 'GET' ? PARAMETERS.some((name) => name in req.query) : req.method === 'POST';
    if (!isAnswer || OURS.test(req.path) || !(await isOld(req.path))) return next();
    if (req.method === 'GET') return comeBack(deps, req, res);
    readForm(req, res, (error?: unknown) => (error ? next(error) : asQuery(req, res, next)));
  });
  router.use(pageErrors(deps.logger));
  return router;
}

/** Paths of ours, which no provider can have: most requests are to them. ZITADEL's own path below `/ui` is none of ours. */
const OURS =
  /^\/(?:account|ui(?!\/login\/login\/externalidp\/)|console|docs|oauth|oidc|\.well-known|v2|v2beta|management|admin)\//i;

/** The parameters of an answer (RFC 6749, RFC 9207), and Apple's `user`. */
const PARAMETERS = ['state', 'code', 'iss', 'error', 'error_description', 'user'] as const;

/** Leads to the same path, with the fields of the form as its query. */
const asQuery: RequestHandler = (req, res) => {
  const fields = (req.body ?? {}) as Record<string, unknown>;
  const given = PARAMETERS.flatMap((name) => {
    const value = fields[name];
    return typeof value === 'string' ? [[name, value] as [string, string]] : [];
  });
  // Relative to the path, as the public address may have another one before it.
  res.redirect(303, `?${new URLSearchParams(given)}`);
};

async function comeBack(deps: CallbackDeps, req: Request, res: Response, idpId?: string): Promise<void> {
  const url = new URL(req.originalUrl, 'https://callback.invalid');
  const answer: Answer = { idpId, path: req.path, url, browser: browserOf(deps, req) };
  const answered = await answerTrip(deps, answer);
  if (!answered) return sendPage(res, 400, notYours());
  res.redirect(303, await nextOf(deps, answered));
}

/** Where the visit goes on. */
async function nextOf({ config, concludeIntent }: CallbackDeps, { id, purpose, uid, urls, result, token }: Answered) {
  switch (purpose) {
    case 'sign_in':
      return `${config.baseUrl}/ui/login/${encodeURIComponent(uid ?? '')}/idps/${id}`;
    case 'link':
      return `${config.baseUrl}${ACCOUNT_PATHS.page}/links/${id}`;
    case 'intent': {
      const user = await concludeIntent?.(result);
      if (result.error) return withParams(urls?.failureUrl, { id, error: result.error });
      return withParams(urls?.successUrl, { id, token: token ?? '', ...(user === undefined ? {} : { user }) });
    }
  }
}

function withParams(url: string | undefined, params: Readonly<Record<string, string>>): string {
  if (url === undefined) throw new Error('The intent has no address to go on to.');
  const to = new URL(url);
  for (const [name, value] of Object.entries(params)) to.searchParams.set(name, value);
  return to.href;
}

function notYours(): HtmlPage {
  return { ...problemPage(say('error.signInAgain'), say('login.notYours')), reopenedBy: 'nothing' };
}

/** How long the paths of old systems are remembered. */
const FRESH_MS = 10_000;

/** Whether a provider answers on this path of an old system. A path that is not known is looked up. */
function oldPaths(db: Db): (path: string) => Promise<boolean> {
  let known: ReadonlySet<string> = new Set();
  let readAt = Number.NEGATIVE_INFINITY;
  return async (path) => {
    if (known.has(path) && performance.now() - readAt < FRESH_MS) return true;
    const startedAt = performance.now();
    const { rows } = await db.query<{ path: string }>(
      `select distinct jsonb_array_elements_text(settings -> 'callbackPaths') as path from idps`,
    );
    known = new Set(rows.map((row) => row.path));
    readAt = startedAt;
    return known.has(path);
  };
}
