/**
 * Signing in at an external provider, on the log-in pages: the way there (a button, or a hint that leads straight there)
 * and the way back, `/ui/login/:uid/idps/:tripId`, with the pages for what cannot be decided without the person.
 *
 * Guarantee: only providers of the instance and of the organization that the application names are offered; another
 * organization's provider only to whoever types an address of its own domain, or where the application names its id. A
 * sign-in leads straight to a provider once: after a failure, a cancellation or "Back" the page with the other ways is
 * shown. What the provider said is read once, in the browser that was sent there.
 */
import { type Request, type Response, Router } from 'express';
import { findOrgByDomain, findOrgs } from '../../directory/organizations.ts';
import { findUser, loginNames } from '../../directory/users/store.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { idProblem } from '../../platform/fields.ts';
import { hidden, text } from '../../platform/html/forms.ts';
import { type HtmlPage, sendPage } from '../../platform/html/layout.ts';
import { type MessageKey, say } from '../../platform/messages/catalogue.ts';
import { publish } from '../../platform/telemetry.ts';
import { html } from '../../platform/text/html.ts';
import { originOfForm } from '../login/origin.ts';
import { findLogin } from '../login/store.ts';
import { mayUseCode } from '../mail-code/ask.ts';
import { loginGonePage } from '../oauth/pages.ts';
import { type Identity, ProviderError } from '../providers/protocol.ts';
import { beginTrip, takeResult } from '../providers/round-trip.ts';
import { voiceOf } from '../providers/settings.ts';
import {
  accountOf,
  checkByProvider,
  failureOf,
  type Provided,
  recordNobody,
  signInByProvider,
  soleHolder,
  type VisitFailure,
} from '../providers/sign-in.ts';
import { findIdp, type Idp, idpsFor } from '../providers/store.ts';
import { back, type LoginFrame, loginForm, step } from './forms.ts';
import {
  again,
  findInteraction,
  firstForm,
  type LoginPageDeps,
  type LoginRequest,
  providerTargets,
  sealConnect,
  show,
  startAgain,
} from './interaction.ts';
import { checkFirst } from './proceed.ts';

/** Serves the way back; mount it at `/`. */
export function providerReturns(deps: LoginPageDeps): Router {
  return Router().get('/ui/login/:uid/idps/:tripId', (req, res) => comeBack(deps, req, res));
}

/** The steps of a login that concern providers, as `LOGIN_STEPS`. */
export const PROVIDER_STEPS: readonly [string, (loginRequest: LoginRequest) => Promise<void>][] = [
  ['provider', goToProvider],
  ['organization', chooseOrganization],
];

/** A button was selected. */
async function goToProvider(loginRequest: LoginRequest): Promise<void> {
  const idp = await usableIdp(loginRequest, text(loginRequest.req.body, 'idpId'));
  if (!idp) return startAgain(loginRequest);
  await leaveFor(loginRequest, idp, loginRequest.interaction.asked.loginHint);
}

async function usableIdp({ deps, interaction }: LoginRequest, id: string): Promise<Idp | undefined> {
  const idp = idProblem(id) ? undefined : await findIdp(deps.pool, id);
  const { orgId } = interaction.frame;
  const isOfOther = idp !== undefined && idp.orgId !== null && orgId !== undefined && idp.orgId !== orgId;
  return idp?.settings.isEnabled && !isOfOther ? idp : undefined;
}

/**
 * Leads straight to the provider that the application named, or that signs in the addresses of a domain. Returns false if
 * there is none, or this sign-in has led there before: its button is then on the page.
 * @param typed the name that somebody typed; absent: what the application asked for
 */
export async function leadStraight(loginRequest: LoginRequest, typed?: string): Promise<boolean> {
  const { deps, interaction } = loginRequest;
  const { frame, asked } = interaction;
  if (frame.connect) return false;
  const hinted = typed === undefined && asked.hint !== '' ? await namedIdp(loginRequest, asked.hint) : undefined;
  const idp = hinted ?? (await idpOfDomain(deps.pool, typed ?? asked.loginHint, frame.orgId));
  if (!idp) return false;
  offer(loginRequest, idp);
  if (asked.visited.includes(idp.id)) return false;
  await asked.visit(idp.id);
  await leaveFor(loginRequest, idp, typed ?? asked.loginHint);
  return true;
}

/** The provider with this id, alias or name. One of an organization that the application does not name: only its id. */
async function namedIdp(loginRequest: LoginRequest, hint: string): Promise<Idp | undefined> {
  const { deps, interaction } = loginRequest;
  const offered = await idpsFor(deps.pool, interaction.frame.orgId);
  const key = hint.toLowerCase();
  const isNamed = ({ name, settings }: Idp) => [name, ...settings.aliases].some((one) => one.toLowerCase() === key);
  return offered.find(({ id }) => id === hint) ?? offered.find(isNamed) ?? usableIdp(loginRequest, hint);
}

/** The provider for addresses of this domain: of the organization that is named, else of that with the domain. */
async function idpOfDomain(db: Db, address: string, orgId: string | undefined): Promise<Idp | undefined> {
  const [, domain] = /^[^@\s]+@([^@\s]+)$/.exec(address.trim().toLowerCase()) ?? [];
  if (domain === undefined || domain.length > 253) return undefined;
  const hasDomain = ({ settings }: Idp) => settings.domains.some((one) => one.toLowerCase() === domain);
  const found = (await idpsFor(db, orgId)).find(hasDomain);
  if (found || orgId !== undefined) return found;
  const org = await findOrgByDomain(db, domain);
  return org && (await idpsFor(db, org.id)).find((idp) => idp.orgId === org.id && hasDomain(idp));
}

/** Puts the provider's button on the pages of this request. */
function offer({ interaction }: LoginRequest, idp: Idp): void {
  const { providers = [] } = interaction.frame;
  if (providers.some(({ id }) => id === idp.id)) return;
  interaction.frame = { ...interaction.frame, providers: [{ id: idp.id, name: idp.name }, ...providers] };
  interaction.formTargets = [...new Set([...interaction.formTargets, ...providerTargets(idp)])];
}

/** Types that know `prompt=select_account`; others may answer it with an error. */
const CHOOSERS: ReadonlySet<string> = new Set(['google', 'microsoft', 'zitadel']);

/** Sends the browser to the provider, with what the application asked for. */
async function leaveFor(loginRequest: LoginRequest, idp: Idp, loginHint: string): Promise<void> {
  const { deps, req, res, interaction } = loginRequest;
  const { prompt, maxAge } = interaction.asked;
  const prompts = prompt.split(' ');
  const isChoice = prompts.includes('select_account') && CHOOSERS.has(idp.type);
  const asks = prompts.includes('login') ? 'login' : isChoice ? 'select_account' : undefined;
  const ask = {
    ...(loginHint === '' ? {} : { loginHint: loginHint.trim() }),
    ...(asks ? { prompt: asks } : {}),
    ...(maxAge === undefined ? {} : { maxAge }),
  };
  const { uid, orgId } = interaction.frame;
  try {
    const address = await beginTrip(deps, req, res, { idp, purpose: 'sign_in', orgId, uid, ask });
    res.redirect(303, address.href);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    await showRefused(loginRequest, idp, failureOf(error.reason));
  }
}

/** What the provider answered. */
async function comeBack(deps: LoginPageDeps, req: Request, res: Response): Promise<void> {
  const interaction = await findInteraction(deps, req, res);
  if (!interaction) return sendPage(res, 410, loginGonePage());
  interaction.frame = { ...interaction.frame, up: '../../' };
  const loginRequest = { deps, interaction, req, res };
  const { uid, orgId } = interaction.frame;
  const result = await takeResult(deps, req, { tripId: String(req.params.tripId), uid });
  if (!result) return startAgain(loginRequest);
  const { idp, identity, error } = result;
  if (identity?.isUndated) return confirmOtherwise(loginRequest, { idp, identity, orgId });
  if (identity) return decide(loginRequest, { idp, identity, orgId });
  if (error !== 'cancelled') return showRefused(loginRequest, idp, failureOf(error));
  await recordNobody(deps.pool, idp, 'provider_cancelled');
  res.redirect(303, `${deps.config.baseUrl}/ui/login/${encodeURIComponent(uid)}`);
}

async function decide(loginRequest: LoginRequest, given: Provided, chosen?: string): Promise<void> {
  const { deps, interaction } = loginRequest;
  const { frame } = interaction;
  const { idp, identity } = given;
  const decision = await signInByProvider(deps, given, chosen);
  switch (decision.is) {
    case 'user':
      return signIn(loginRequest, given, decision.userId);
    case 'choose': {
      const organizations = await findOrgs(deps.pool, decision.orgIds);
      return show(
        loginRequest,
        200,
        organizationsPage(frame, idp.name, organizations, seal(deps.secrets, frame.uid, given)),
      );
    }
    case 'confirm': {
      publish('provider', { idpId: idp.id, outcome: 'confirm' });
      const account = { idpId: idp.id, voice: voiceOf(idp), identity: accountOf(identity) };
      const connect = sealConnect(deps.secrets, frame.uid, idp.name, account);
      return show(loginRequest, 200, firstForm({ ...frame, connect }, interaction.asked.loginHint));
    }
    default:
      return showRefused(loginRequest, idp, decision.reason);
  }
}

async function signIn(loginRequest: LoginRequest, given: Provided, userId: string): Promise<void> {
  const { deps, req, res } = loginRequest;
  const loginName = (await findLogin(deps.pool, { userId }))?.loginName ?? '';
  const origin = originOfForm(req, res);
  const check: Parameters<typeof checkFirst>[2] = (proven) =>
    checkByProvider(deps, { ...given, userId }, origin, proven);
  await checkFirst(loginRequest, loginName, check, { wrong: again() });
}

/**
 * A recent sign-in is asked for, and the provider does not say when that was: the person whose account it is signs in with
 * what they have here.
 */
async function confirmOtherwise(loginRequest: LoginRequest, given: Provided): Promise<void> {
  const { deps, interaction } = loginRequest;
  const { idp } = given;
  const userId = await soleHolder(deps, given);
  const user = userId === undefined ? undefined : await findUser(deps.pool, userId);
  if (!user) return showRefused(loginRequest, idp, 'provider_undated');
  await recordNobody(deps.pool, idp, 'provider_undated');
  const ways = {
    hasPassword: user.hasPassword,
    hasCode: interaction.frame.offersCodes && (await mayUseCode(deps.pool, user)),
  };
  const message = say('login.providerUndated', { provider: idp.name, next: nextWay(ways) });
  const problem = { message, fields: [] };
  show(loginRequest, 400, loginForm(interaction.frame, loginNames(user)[0] ?? '', problem));
}

/** What else they can do, as the message tells the cases apart. */
function nextWay({ hasPassword, hasCode }: { hasPassword: boolean; hasCode: boolean }): string {
  if (hasPassword) return hasCode ? 'passwordOrCode' : 'password';
  return hasCode ? 'code' : 'reset';
}

async function chooseOrganization(loginRequest: LoginRequest): Promise<void> {
  const { deps, req, interaction } = loginRequest;
  const opened = open(deps.secrets, interaction.frame.uid, text(req.body, 'provided'));
  const idp = opened && (await usableIdp(loginRequest, opened.idpId));
  if (!opened || !idp || opened.voice !== voiceOf(idp)) return startAgain(loginRequest);
  const { orgId } = interaction.frame;
  await decide(loginRequest, { idp, identity: opened.identity, orgId }, text(req.body, 'orgId'));
}

/** The organizations in which the account has a user. */
export function organizationsPage(
  frame: LoginFrame,
  provider: string,
  organizations: readonly { id: string; name: string }[],
  provided: string,
): HtmlPage {
  const title = say('login.chooseOrganization');
  const body = html`<h1>${title}</h1>
<p>${say('login.chooseOrganizationWhy', { provider })}</p>
${step(frame, 'organization')}${hidden({ provided })}<div class="buttons">
${organizations.map(({ id, name }) => html`<button type="submit" name="orgId" value="${id}" class="quiet">${name}</button>\n`)}</div>
</form>
${back(frame)}`;
  return { title, body };
}

/** What is wrong, and what else people can do. */
const MESSAGES: Readonly<Record<VisitFailure, MessageKey>> = {
  provider_unavailable: 'login.providerUnavailable',
  provider_refused: 'login.providerRefused',
  provider_cancelled: 'login.providerCancelled',
  provider_not_allowed: 'login.providerNotAllowed',
  provider_undated: 'login.providerUndated',
  link_missing: 'login.linkMissing',
  link_held_twice: 'login.linkHeldTwice',
  address_taken: 'login.addressTaken',
};

const RETRY_AFTER_S = 60;

/** Shows the sign-in page with what is wrong: all other ways stay open. */
async function showRefused(loginRequest: LoginRequest, idp: Idp, reason: VisitFailure): Promise<void> {
  const { deps, res, interaction } = loginRequest;
  await recordNobody(deps.pool, idp, reason);
  offer(loginRequest, idp);
  const isDown = reason === 'provider_unavailable';
  if (isDown) res.set('Retry-After', String(RETRY_AFTER_S));
  const values = { provider: idp.name, codes: interaction.frame.offersCodes ? 'yes' : 'no', next: 'other' };
  const problem = { message: say(MESSAGES[reason], values), fields: [] };
  show(loginRequest, isDown ? 503 : 400, firstForm(interaction.frame, interaction.asked.loginHint, problem));
}

const GOOD_FOR_MS = 15 * 60_000;

interface Opened {
  idpId: string;
  /** Of the provider when it said so: see `voiceOf`. */
  voice: string;
  identity: Identity;
}

/** What the provider said, as a form keeps it while the person chooses. */
function seal(secrets: Secrets, uid: string, { idp, identity }: Provided): string {
  const kept = { idpId: idp.id, voice: voiceOf(idp), identity: { ...identity, claims: {}, picture: undefined } };
  return secrets.seal(JSON.stringify({ ...kept, until: Date.now() + GOOD_FOR_MS }), purpose(uid));
}

function open(secrets: Secrets, uid: string, sealed: string): Opened | undefined {
  try {
    const { until, ...opened } = JSON.parse(secrets.unseal(sealed, purpose(uid)));
    return Date.now() < until ? opened : undefined;
  } catch {
    return undefined; // forged, or of another sign-in
  }
}

function purpose(uid: string): string {
  return `login provided ${uid}`;
}
