/**
 * A login in progress, as its pages need it: what the application asked for, the proof of the checks that a user has
 * passed so far, which the form keeps between two steps, and the pages for what a check refuses.
 *
 * Guarantee: a proof is encrypted and authenticated, so nobody can read or forge one; valid for one login, one step of
 * it, and 15 minutes; void once the password changes. It never holds the password.
 */
import type { Request, Response } from 'express';
import { type Client, errors, type Provider } from 'oidc-provider';
import { PRESETS } from '../../contract/idp-presets.ts';
import { signInNamesOf } from '../../directory/organizations.ts';
import { findUser } from '../../directory/users/store.ts';
import type { Config } from '../../platform/config.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { type Problem, text } from '../../platform/html/forms.ts';
import { chosenNow } from '../../platform/html/languages.ts';
import { formTarget, type HtmlPage, sendPage } from '../../platform/html/layout.ts';
import { isLanguage, say, wishFor } from '../../platform/messages/catalogue.ts';
import type { RelyingPartyConfig } from '../../platform/relying-party.ts';
import { nameCaller, requestContext } from '../../platform/request-context.ts';
import { showBrandingOf } from '../branding.ts';
import type { ForgottenDeps } from '../credentials/password-reset.ts';
import type { CheckedLogin, PasswordProof } from '../login/check.ts';
import type { LoginDeps } from '../login/origin.ts';
import { findLogin } from '../login/store.ts';
import { offeredCodes } from '../mail-code/ask.ts';
import { hintOf, organizationOf } from '../oauth/account.ts';
import type { LiveProvider } from '../oauth/provider.ts';
import type { Account } from '../providers/sign-in.ts';
import { type Idp, idpsFor } from '../providers/store.ts';
import {
  type Connecting,
  type LoginFrame,
  loginForm,
  nameForm,
  nameKinds,
  type ProofStep,
  pausedPage,
  stopPage,
} from './forms.ts';
import { passkeyOffer } from './passkey-offer.ts';

export interface LoginPageDeps extends LoginDeps {
  oauth: LiveProvider;
  config: LoginDeps['config'] &
    ForgottenDeps['config'] &
    Pick<Config, 'baseUrl' | 'IDP_ALLOW_PRIVATE' | 'SMS_URL' | 'SMS_PER_DAY'> &
    RelyingPartyConfig;
}

export interface LoginInteraction {
  frame: LoginFrame;
  /**
   * The probable user: the application's `login_hint`, else the user who is already logged in, unless they may choose.
   */
  loginName: string;
  /** Login name of the user who is signed in, and only has to choose to continue. */
  signedInAs?: string | undefined;
  /** Where the forms may finally lead: to the application, or to an external provider. */
  formTargets: string[];
  /** What the application asked for that concerns external providers. */
  asked: ProviderAsk;
  /** The account at a provider that is linked when the user has signed in. */
  connect?: ConnectedAccount | undefined;
}

/** What leads to an external provider. */
export interface ProviderAsk {
  /** The id, an alias or the name of a provider; empty if none was named. */
  hint: string;
  /** The application's `login_hint`; empty without one. */
  loginHint: string;
  /** `prompt` and `max_age` of the application. */
  prompt: string;
  maxAge: number | undefined;
  /** Ids of the providers that this sign-in led straight to: not again, or a failure there would never end. */
  visited: readonly string[];
  /** Remembers another one. */
  visit(idpId: string): Promise<void>;
}

/** An account at a provider, as a form keeps it. */
export interface ConnectedAccount {
  idpId: string;
  /** Of the provider when it named the account: see `voiceOf`. */
  voice: string;
  identity: Account;
}

/** One request of a login. */
export interface LoginRequest {
  deps: LoginPageDeps;
  interaction: LoginInteraction;
  req: Request;
  res: Response;
}

/** The login of this address in this browser; undefined when it has ended or belongs to another browser. */
export async function findInteraction(
  deps: LoginPageDeps,
  req: Request,
  res: Response,
): Promise<LoginInteraction | undefined> {
  const provider = deps.oauth.current();
  const interaction = await interactionOf(provider, req, res);
  if (!interaction || interaction.uid !== req.params.uid) return undefined;
  const { uid, params, session, prompt } = interaction;
  const client = await provider.Client.find(String(params.client_id));
  if (!client) return undefined;
  nameCaller({ clientId: client.clientId });
  await heedLanguages(interaction, res);
  await speakToSignedIn(deps, prompt.name === 'select_account' ? undefined : session?.accountId);
  const orgId = await organizationOf(deps.pool, params);
  const known = provenUser(deps.secrets, uid, text(req.body, 'proof')) ?? signedInUser(prompt.name, session?.accountId);
  await showBrandingOf(deps, { orgId, userId: known });
  const idps = await idpsFor(deps.pool, orgId);
  const connect = openConnect(deps.secrets, uid, text(req.body, 'connect'));
  const codes = await offeredCodes(deps.pool, orgId);
  const offersTexts = codes.text && deps.config.SMS_URL !== undefined;
  return {
    frame: {
      uid,
      token: formToken(deps.secrets, uid),
      clientName: client.clientName ?? client.clientId,
      orgId,
      names: nameKinds(await signInNamesOf(deps.pool, orgId), offersTexts),
      offersCodes: codes.mail,
      offersTexts,
      sealName: (name) => sealName(deps.secrets, name),
      providers: idps.map(({ id, name }) => ({ id, name })),
      connect: connect?.shown,
      passkey: await passkeyOffer(deps, { uid, orgId }),
    },
    asked: askedOf(interaction),
    connect: connect?.account,
    loginName: await probableName(
      deps,
      params.login_hint,
      prompt.name === 'select_account' ? undefined : session?.accountId,
    ),
    signedInAs: prompt.name === 'consent' ? await loginNameOf(deps, session?.accountId) : undefined,
    formTargets: [...new Set([...idps.flatMap(providerTargets), ...targetsOf(client, params.redirect_uri)])],
  };
}

/**
 * The language of the pages of this sign-in: what the application asks for, until the person chooses another one on a
 * page of it.
 */
async function heedLanguages(interaction: Interaction, res: Response): Promise<void> {
  const now = chosenNow(res);
  if (now) {
    interaction.lastSubmission = { ...interaction.lastSubmission, language: now };
    await interaction.persist();
  }
  const chosen = interaction.lastSubmission?.language;
  const { ui_locales: application } = interaction.params;
  if (isLanguage(chosen)) wishFor({ chosen });
  else if (typeof application === 'string') wishFor({ application });
}

/** The session of this browser proves who is signed in. */
async function speakToSignedIn(deps: LoginPageDeps, accountId: string | undefined): Promise<void> {
  if (accountId !== undefined) await speakTo(deps, accountId);
}

/** Lets the pages of this request be in the language of a user who has proved who they are: nobody else may know it. */
export async function speakTo({ pool }: Pick<LoginPageDeps, 'pool'>, userId: string): Promise<void> {
  const user = await findUser(pool, userId);
  if (user?.preferredLanguage) wishFor({ user: user.preferredLanguage });
}

function askedOf(interaction: Interaction): ProviderAsk {
  const { params, lastSubmission } = interaction;
  const visited = (lastSubmission?.visited ?? []) as string[];
  const maxAge = params.max_age === undefined ? undefined : Number(params.max_age);
  return {
    hint: hintOf(params),
    loginHint: typeof params.login_hint === 'string' ? params.login_hint.slice(0, 500) : '',
    prompt: typeof params.prompt === 'string' ? params.prompt : '',
    maxAge: Number.isSafeInteger(maxAge) ? maxAge : undefined,
    visited,
    async visit(idpId) {
      interaction.lastSubmission = { ...lastSubmission, visited: [...visited, idpId] };
      await interaction.persist();
    },
  };
}

type Interaction = InstanceType<Provider['Interaction']>;

/** Addresses that a form may lead to; few, to keep the header short. */
const MOST_TARGETS = 20;

/** Where the forms of a login may finally lead. @param redirectUri what the application asked for */
export function targetsOf(
  { redirectUris = [], postLogoutRedirectUris = [] }: Pick<Client, 'redirectUris' | 'postLogoutRedirectUris'>,
  redirectUri: unknown,
): string[] {
  const targets = [String(redirectUri ?? ''), ...redirectUris, ...postLogoutRedirectUris];
  return [...new Set(targets.filter((uri) => URL.canParse(uri)).map(formTarget))].slice(0, MOST_TARGETS);
}

/**
 * Types of providers that may lead on to others, wherever these are: a company's sign-in to that of its partner. Chromium
 * (156, tried) applies `form-action` to every redirect that follows a form, and blocks the first to an origin that is not
 * named; nobody knows these origins before. A page of ours in between, which leads on by itself, would need no `https:`,
 * but every sign-in would load it.
 */
const LEADING_ON: ReadonlySet<string> = new Set(['microsoft', 'auth0', 'keycloak', 'zitadel', 'oidc', 'oauth']);

/** Where the button of a provider leads. Does not ask the provider: a sign-in page waits for nobody. */
export function providerTargets({ type, settings }: Pick<Idp, 'type' | 'settings'>): string[] {
  const { endpoints, issuer } = PRESETS[type];
  const address = settings.endpoints?.authorization ?? endpoints?.authorization ?? settings.issuer ?? issuer ?? '';
  const own = URL.canParse(address) ? [formTarget(address)] : [];
  return LEADING_ON.has(type) ? [...own, 'https:'] : own;
}

/** Sends a page of the login. */
export function show({ res, interaction }: LoginRequest, status: number, page: HtmlPage): void {
  sendPage(res, status, page, interaction);
}

/** A proof for the next step. */
export function prove({ deps, interaction }: LoginRequest, proof: LoginProof): { proof: string; loginName: string } {
  const language = requestContext()?.wishes?.user;
  const sealed = sealProof(deps.secrets, interaction.frame.uid, { ...proof, ...(language ? { language } : {}) });
  return { proof: sealed, loginName: proof.loginName };
}

/** The proof in the form, if it is valid for one of these steps. */
export function proofOf(
  { deps, interaction }: LoginRequest,
  sealed: string,
  steps: readonly ProofStep[],
): LoginProof | undefined {
  const proof = openProof(deps.secrets, interaction.frame.uid, sealed, steps);
  if (proof?.language) wishFor({ user: proof.language });
  return proof;
}

async function interactionOf(provider: Provider, req: Request, res: Response) {
  try {
    return await provider.interactionDetails(req, res);
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  }
}

async function probableName(deps: LoginPageDeps, hint: unknown, accountId: string | undefined): Promise<string> {
  if (typeof hint === 'string' && hint !== '') return hint.slice(0, 500);
  return (await loginNameOf(deps, accountId)) ?? '';
}

async function loginNameOf(deps: LoginPageDeps, accountId: string | undefined): Promise<string | undefined> {
  return accountId === undefined ? undefined : (await findLogin(deps.pool, { userId: accountId }))?.loginName;
}

function wrongLogin(): Problem {
  return { message: say('login.wrong'), fields: ['loginName', 'password'] };
}

/** What is wrong with a form that is too old, or whose user has changed since. */
export function again(): Problem {
  return { message: say('login.again'), fields: [] };
}

/** Shows the page for an error of a check; rethrows other errors. */
export function refuse(loginRequest: LoginRequest, error: unknown, loginName: string, problem?: Problem): void {
  const { id, retryAfterS } = error instanceof ApiError ? error : { id: undefined };
  const { frame } = loginRequest.interaction;
  const stop = stopPage(frame, id);
  if (stop) show(loginRequest, 400, stop);
  else if (id === 'SESSION-CREDENTIALS') show(loginRequest, 400, loginForm(frame, loginName, problem ?? wrongLogin()));
  else if (id === 'SESSION-FAILURES') pause(loginRequest, retryAfterS);
  else if (id === 'PASSWORD-SOURCE-UNAVAILABLE') tryLater(loginRequest, loginName, retryAfterS);
  else throw error;
}

function pause(loginRequest: LoginRequest, retryAfterS = 0): void {
  loginRequest.res.set('Retry-After', String(retryAfterS));
  show(loginRequest, 429, pausedPage(loginRequest.interaction.frame, Math.ceil(retryAfterS / 60)));
}

/** Nothing is known about the password, so the page says nothing about it. */
function tryLater(loginRequest: LoginRequest, loginName: string, retryAfterS = 0): void {
  loginRequest.res.set('Retry-After', String(retryAfterS));
  const problem = { message: say('login.cannotCheck'), fields: [] };
  show(loginRequest, 503, loginForm(loginRequest.interaction.frame, loginName, problem));
}

/** The page for an unknown user and for a wrong password. */
export function wrong(loginRequest: LoginRequest, loginName: string): void {
  show(loginRequest, 400, loginForm(loginRequest.interaction.frame, loginName, wrongLogin()));
}

/** Where a login begins: with the name, unless it is known. */
export function firstForm(frame: LoginFrame, loginName: string, problem?: Problem): HtmlPage {
  return loginName === '' ? nameForm(frame, problem) : loginForm(frame, loginName, problem);
}

/** The page for a form that is too old, or whose user has changed since. */
export function startAgain(loginRequest: LoginRequest): void {
  const { frame, loginName } = loginRequest.interaction;
  show(loginRequest, 400, firstForm(frame, loginName, again()));
}

/** Whether an error of a check has this id. */
export function isRefusal(error: unknown, id: string): boolean {
  return error instanceof ApiError && error.id === id;
}

/** The account as a form keeps it. @param provider its name */
export function sealConnect(secrets: Secrets, uid: string, provider: string, account: ConnectedAccount): Connecting {
  const { email, userName, name } = account.identity;
  const shown = { name: provider, account: email ?? userName ?? name ?? '' };
  const sealed = secrets.seal(JSON.stringify({ shown, account, until: Date.now() + GOOD_FOR_MS }), connectPurpose(uid));
  return { ...shown, sealed };
}

/** The account in a form of this sign-in, while it is valid. */
function openConnect(
  secrets: Secrets,
  uid: string,
  sealed: string,
): { shown: Connecting; account: ConnectedAccount } | undefined {
  const opened = sealed === '' ? undefined : unsealed(secrets, sealed, connectPurpose(uid));
  if (opened === undefined) return undefined;
  const { shown, account, until } = JSON.parse(opened);
  return Date.now() < until ? { shown: { ...shown, sealed }, account } : undefined;
}

function connectPurpose(uid: string): string {
  return `login connect ${uid}`;
}

/** What a user has proved so far. */
export interface LoginProof extends PasswordProof {
  step: ProofStep;
  /** Authentication methods so far (RFC 8176). */
  amr: string[];
  loginName: string;
  /** What the user prefers. */
  language?: string;
  /** Of a complete sign-in at a provider. */
  provided?: NonNullable<CheckedLogin['provided']>;
  /** The secret of a second factor that the user sets up now, in base32; it is stored once a code has proved it. */
  secret?: string;
}

const GOOD_FOR_MS = 15 * 60_000;

/** The proof as the form keeps it. @param uid of the login @param now milliseconds since 1970 */
export function sealProof(secrets: Secrets, uid: string, proof: LoginProof, now: number = Date.now()): string {
  return secrets.seal(JSON.stringify({ ...proof, until: now + GOOD_FOR_MS }), purpose(uid));
}

/** The proof, if it is valid for this login and one of these steps; else undefined. */
export function openProof(
  secrets: Secrets,
  uid: string,
  sealed: string,
  steps: readonly ProofStep[],
  now: number = Date.now(),
): LoginProof | undefined {
  const opened = unsealed(secrets, sealed, purpose(uid));
  if (opened === undefined) return undefined;
  const { until, ...proof } = JSON.parse(opened) as LoginProof & { until: number };
  return now < until && steps.includes(proof.step) ? proof : undefined;
}

/** Who has proved in this login who they are, by the proof of any step. */
function provenUser(secrets: Secrets, uid: string, sealed: string): string | undefined {
  const opened = sealed === '' ? undefined : unsealed(secrets, sealed, purpose(uid));
  if (opened === undefined) return undefined;
  const { id, until } = JSON.parse(opened) as LoginProof & { until: number };
  return Date.now() < until ? id : undefined;
}

/** The user of the browser's session, unless they may choose to be another one. */
function signedInUser(prompt: string, accountId: string | undefined): string | undefined {
  return prompt === 'select_account' ? undefined : accountId;
}

/** The token of a login's forms: only the browser that may see them has it. */
export function formToken(secrets: Secrets, uid: string): string {
  return secrets.seal(uid, TOKEN);
}

/** Whether the token is the token of the forms of this login. */
export function isFormToken(secrets: Secrets, uid: string, token: string): boolean {
  return unsealed(secrets, token, TOKEN) === uid;
}

const TOKEN = 'login form';
const NAME = 'login name';

/** A name for an address, which browsers and proxies keep: nobody reads it there. */
export function sealName(secrets: Secrets, loginName: string): string {
  return Buffer.from(secrets.seal(loginName, NAME), 'base64').toString('base64url');
}

/** The name that `sealName` sealed; empty if there is none. */
export function sealedName(secrets: Secrets, sealed: string): string {
  return unsealed(secrets, Buffer.from(sealed, 'base64url').toString('base64'), NAME) ?? '';
}

function purpose(uid: string): string {
  return `login proof ${uid}`;
}

function unsealed(secrets: Secrets, sealed: string, purpose: string): string | undefined {
  try {
    return secrets.unseal(sealed, purpose);
  } catch {
    return undefined; // forged, or sealed for another purpose
  }
}
