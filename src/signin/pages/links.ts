/**
 * `/ui/links`: people see the accounts at external providers that sign them in here, connect one and remove one.
 *
 * Guarantee: only whoever has signed in in this browser within the last minutes gets the page, so a browser that was left
 * open is not enough. An account is connected only to the user who was sent to the provider, by the provider's answer in
 * this browser. Each change is an event and a mail. The last way in cannot be removed.
 *
 * On crash: the page shows what is stored.
 */
import { randomBytes } from 'node:crypto';
import { type Request, type Response, Router } from 'express';
import { ACCOUNT_CLIENT, ACCOUNT_PATHS, OAUTH_PATHS } from '../../contract/own-clients.ts';
import { type KnownLink, linksOf, removeLink } from '../../directory/idp-links.ts';
import { findUser, loginNames, stateNow, type User } from '../../directory/users/store.ts';
import { transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { alert, hidden, type Problem, readForm, text } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/html/html.ts';
import { type HtmlPage, problemPage, sendPage } from '../../platform/html/layout.ts';
import { nameCaller } from '../../platform/request-context.ts';
import { RECENT_S } from '../login/owner-proof.ts';
import { ProviderError } from '../providers/protocol.ts';
import { beginTrip, TRIP_MS, takeResult } from '../providers/round-trip.ts';
import { linkOwn } from '../providers/sign-in.ts';
import { type Idp, idpsFor } from '../providers/store.ts';
import { initialOf } from './forms.ts';
import { type LoginPageDeps, providerTargets } from './interaction.ts';

const { page: PAGE, signedIn: SIGNED_IN } = ACCOUNT_PATHS;

/** Serves `/ui/links`; mount it at `/`. */
export function linkPages(deps: LoginPageDeps): Router {
  const router = Router();
  router.get(PAGE, (req, res) => showLinks(deps, req, res));
  router.post(PAGE, readForm, (req, res) => change(deps, req, res));
  router.get(SIGNED_IN, (req, res) => signedIn(deps, req, res));
  router.get(`${PAGE}/:tripId`, (req, res) => comeBack(deps, req, res));
  return router;
}

/** Who is signed in in this browser. */
interface Person {
  user: User;
  /** Of the browser's session. */
  uid: string;
  /** Seconds since the sign-in. */
  ageS: number;
}

async function personOf({ oauth, pool }: LoginPageDeps, req: Request, res: Response): Promise<Person | undefined> {
  const provider = oauth.current();
  const session = await provider.Session.get(provider.createContext(req, res));
  const user = session.accountId === undefined ? undefined : await findUser(pool, session.accountId);
  if (user?.kind !== 'human' || stateNow(user) !== 'active') return undefined;
  nameCaller({ userId: user.id });
  return { user, uid: session.uid, ageS: Math.floor(Date.now() / 1000) - (session.loginTs ?? 0) };
}

async function recentPerson(deps: LoginPageDeps, req: Request, res: Response): Promise<Person | undefined> {
  const person = await personOf(deps, req, res);
  return person && person.ageS <= RECENT_S ? person : undefined;
}

async function showLinks(deps: LoginPageDeps, req: Request, res: Response): Promise<void> {
  const person = await recentPerson(deps, req, res);
  if (!person) return askToSignIn(deps, res);
  await sendLinks(deps, res, person);
}

/** The code of this request is never redeemed: the session of the browser is what the page needs. */
function askToSignIn({ config }: LoginPageDeps, res: Response): void {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: ACCOUNT_CLIENT,
    redirect_uri: config.baseUrl + SIGNED_IN,
    scope: 'openid',
    state: randomBytes(16).toString('base64url'),
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
    max_age: String(RECENT_S),
  });
  res.redirect(303, `${config.baseUrl}${OAUTH_PATHS.authorization}?${query}`);
}

/** Does not ask again by itself: the sign-in may have been cancelled, or be older than the page needs. */
async function signedIn(deps: LoginPageDeps, req: Request, res: Response): Promise<void> {
  if (await recentPerson(deps, req, res)) return res.redirect(303, deps.config.baseUrl + PAGE);
  const again = html`<p class="links"><a href="../links">Sign in again</a></p>`;
  sendPage(res, 400, problemPage('Please sign in again', 'Your connected accounts need a recent sign-in.', again));
}

const GONE: Problem = { message: 'That took too long, or was already used. Please try again.', fields: [] };

async function change(deps: LoginPageDeps, req: Request, res: Response): Promise<void> {
  const person = await recentPerson(deps, req, res);
  if (!person) return askToSignIn(deps, res);
  if (!isToken(deps.secrets, person, text(req.body, 'token'))) {
    throw new ApiError('PERMISSION_DENIED', 'PAGE-TOKEN', 'The form does not belong to this sign-in.');
  }
  if (text(req.body, 'step') === 'remove') return remove(deps, req, res, person);
  if (text(req.body, 'step') === 'connect') return connect(deps, req, res, person);
  throw new ApiError('INVALID_ARGUMENT', 'PAGE-STEP', 'The form has an unknown step.');
}

async function connect(deps: LoginPageDeps, req: Request, res: Response, person: Person): Promise<void> {
  const { user } = person;
  const found = await idpsFor(deps.pool, user.orgId);
  const idp = found.find(({ id }) => id === text(req.body, 'idpId'));
  if (!idp) return sendLinks(deps, res, person, GONE);
  try {
    const trip = {
      idp,
      purpose: 'link',
      orgId: user.orgId,
      userId: user.id,
      ask: {},
    } as const;
    res.redirect(303, (await beginTrip(deps, req, res, trip)).href);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    await sendLinks(deps, res, person, unconfirmed(idp, error.reason));
  }
}

function unconfirmed({ name }: Idp, reason: ProviderError['reason']): Problem {
  const message =
    reason === 'unavailable'
      ? `We cannot reach ${name} right now. Please try again in a few minutes.`
      : `${name} did not confirm who you are. Please try again.`;
  return { message, fields: [] };
}

async function comeBack(deps: LoginPageDeps, req: Request, res: Response): Promise<void> {
  const person = await personOf(deps, req, res);
  if (!person || person.ageS > RECENT_S + TRIP_MS / 1000) return askToSignIn(deps, res);
  const { user } = person;
  const result = await takeResult(deps, req, { tripId: String(req.params.tripId), userId: user.id });
  if (!result) return sendLinks(deps, res, person, GONE, '../');
  const { idp, identity, error } = result;
  if (error === 'cancelled') return res.redirect(303, deps.config.baseUrl + PAGE);
  if (!identity) return sendLinks(deps, res, person, unconfirmed(idp, error), '../');
  if (await linkOwn(deps, user.id, { idp, identity })) return res.redirect(303, deps.config.baseUrl + PAGE);
  const message = `This ${idp.name} account cannot be connected: somebody else in your organization has it, or ${idp.name} may not sign you in.`;
  await sendLinks(deps, res, person, { message, fields: [] }, '../');
}

const REFUSALS: Readonly<Record<string, Problem>> = {
  'IDP-LINK-LAST-WAY': {
    message: 'This is the only way in which you can sign in. Choose a password or connect another account first.',
    fields: [],
  },
  'IDP-LINK-NOT-FOUND': { message: 'This account is no longer connected.', fields: [] },
};

async function remove(deps: LoginPageDeps, req: Request, res: Response, person: Person): Promise<void> {
  const link = { idpId: text(req.body, 'idpId'), userId: text(req.body, 'userId') };
  try {
    await transaction(deps.pool, async (db) => {
      const user = await findUser(db, person.user.id, 'for update');
      if (user) await removeLink(db, user, link, user.id);
    });
  } catch (error) {
    const problem = error instanceof ApiError ? REFUSALS[error.id] : undefined;
    if (!problem) throw error;
    return sendLinks(deps, res, person, problem);
  }
  res.redirect(303, deps.config.baseUrl + PAGE);
}

/** @param up from the address of the page to `/ui/` */
async function sendLinks(
  deps: LoginPageDeps,
  res: Response,
  person: Person,
  problem?: Problem,
  up = '',
): Promise<void> {
  const { user } = person;
  const idps = await idpsFor(deps.pool, user.orgId);
  const links = await linksOf(deps.pool, user.id);
  const about = { loginName: loginNames(user)[0], token: tokenOf(deps.secrets, person), up };
  const formTargets = [...new Set(idps.flatMap(providerTargets))];
  sendPage(res, problem ? 400 : 200, linksPage(about, links, idps, problem), { formTargets });
}

/** What all forms of the page share. */
interface About {
  loginName: string;
  token: string;
  up: string;
}

/** The page. @param idps that can be connected */
export function linksPage(
  about: About,
  links: readonly KnownLink[],
  idps: readonly Pick<Idp, 'id' | 'name'>[],
  problem?: Problem,
): HtmlPage {
  const title = 'Connected accounts';
  const body = html`<h1>${title}</h1>
<p>You are signed in as <strong>${about.loginName}</strong>. With a connected account you sign in without a password.</p>
${alert(problem)}
${links.length === 0 ? html`<p>No account is connected.</p>` : html`<ul class="rows">${links.map((link) => rowOf(about, link))}</ul>`}
${
  idps.length === 0
    ? undefined
    : html`${opening(about, { step: 'connect' })}<div class="buttons">
${idps.map(({ id, name }) => html`<button type="submit" name="idpId" value="${id}" class="quiet provider"><span class="initial" aria-hidden="true">${initialOf(name)}</span> <span>Connect ${name}</span></button>\n`)}</div>
</form>`
}`;
  return { title: problem ? `Problem: ${title}` : title, body };
}

function rowOf(about: About, { idpId, userId, userName, provider, isHeldTwice }: KnownLink): Html {
  const name = provider?.name ?? idpId;
  const shown = userName === '' ? userId : userName;
  const state = isHeldTwice
    ? 'Somebody else has connected this account too, so it signs in nobody.'
    : provider
      ? undefined
      : 'It cannot be used to sign in.';
  return html`<li>
<p><strong>${name}</strong><br>${shown}</p>
${state && html`<p class="small">${state}</p>`}
${opening(about, { step: 'remove', idpId, userId })}<button type="submit" class="quiet" aria-label="${`Remove ${name} ${shown}`}">Remove</button>
</form>
</li>
`;
}

function opening({ token, up }: About, values: Record<string, string>): Html {
  return html`<form method="post" action="${up}links">
${hidden({ token, ...values })}`;
}

const TOKEN = 'links form';

function tokenOf(secrets: Secrets, { uid }: Person): string {
  return secrets.seal(uid, TOKEN);
}

function isToken(secrets: Secrets, { uid }: Person, token: string): boolean {
  try {
    return secrets.unseal(token, TOKEN) === uid;
  } catch {
    return false;
  }
}
