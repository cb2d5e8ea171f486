/**
 * Checks an external identity provider without a person: what can be known before the first of them comes.
 *
 * Guarantee: nothing is changed here or there, and the secret goes only where a sign-in sends it. A message repeats no
 * more of the provider's answers than its error codes.
 */
import { randomBytes } from 'node:crypto';
import * as oidc from 'openid-client';
import type { ProviderFacts } from '../../contract/diagnostics.ts';
import { OAUTH_TYPES } from '../../contract/idp-presets.ts';
import type { IDP_CHECKS } from '../../contract/idps.ts';
import { type Clash, countLinks, linkClashes } from '../../directory/idp-links.ts';
import type { Config } from '../../platform/config.ts';
import { sqlState } from '../../platform/db/faults.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { TimedOut, withTimeout } from '../../platform/timeouts.ts';
import { type Client, guardOf, openClient, type ProtocolDeps } from './protocol.ts';
import { asProviderError, type ProviderError } from './provider-error.ts';
import { ownsPath } from './round-trip.ts';
import { enabledIdps, type Idp, type OwnedIdp, redirectUriOf } from './store.ts';

export interface CheckDeps extends ProtocolDeps {
  pool: Pool;
  config: Pick<Config, 'IDP_ALLOW_PRIVATE' | 'baseUrl'>;
}

/** What was found about one thing, with what to do if it is not `ok`. */
export interface IdpCheck {
  name: (typeof IDP_CHECKS)[number];
  ok: boolean;
  message: string;
}

/** Checks a provider as far as it lets us. */
export async function checkIdp(deps: CheckDeps, idp: Idp): Promise<IdpCheck[]> {
  const opened = await reach(deps, idp);
  const asked = opened.client ? await askIt(deps, idp, opened.client) : [];
  return [...opened.checks, ...asked, ...(await pathChecks(deps, idp)), await linkCheck(deps.pool, idp)];
}

/** Whether the provider answers with its metadata and with keys. */
export async function reach(deps: ProtocolDeps, idp: Idp): Promise<{ checks: IdpCheck[]; client?: Client }> {
  try {
    const client = await openClient(deps, idp);
    if (OAUTH_TYPES.has(idp.type)) return { checks: [], client };
    const { issuer, jwks_uri: keysAt = '' } = client.config.serverMetadata();
    const discovery = { name: 'discovery', ok: true, message: `The provider describes itself as ${issuer}.` } as const;
    return { checks: [discovery, await keyCheck(deps, keysAt)], client };
  } catch (error) {
    const message = `The metadata of the provider could not be used: ${detailOf(error)}. Check the issuer.`;
    return { checks: [{ name: 'discovery', ok: false, message }] };
  }
}

function detailOf(error: unknown): string {
  return asProviderError(error).detail.replace(/\.$/, '');
}

async function keyCheck(deps: ProtocolDeps, address: string): Promise<IdpCheck> {
  const name = 'keys';
  try {
    const answer = await guardOf(deps)(address, { method: 'GET' } as Parameters<oidc.CustomFetch>[1]);
    const { keys } = (await answer.json()) as { keys?: { kty?: string; use?: string }[] };
    const usable = (keys ?? []).filter(({ kty = '', use = 'sig' }) => KEY_TYPES.has(kty) && use === 'sig').length;
    if (usable > 0) return { name, ok: true, message: `The provider publishes ${usable} keys for signatures.` };
    return { name, ok: false, message: 'The provider publishes no key that ID tokens can be signed with.' };
  } catch (error) {
    const detail =
      error instanceof SyntaxError || error instanceof TypeError ? 'the answer has no keys' : detailOf(error);
    return { name, ok: false, message: `The keys of the provider could not be read: ${detail}.` };
  }
}

const KEY_TYPES: ReadonlySet<string> = new Set(['RSA', 'EC', 'OKP']);

async function askIt(deps: CheckDeps, idp: Idp, { config }: Client): Promise<IdpCheck[]> {
  const redirectUri = redirectUriOf(deps.config.baseUrl, idp);
  return Promise.all([authorizationCheck(deps, idp, config, redirectUri), credentialCheck(config, redirectUri)]);
}

/** A provider sends the browser to an address only if it knows the client and has the address registered. */
async function authorizationCheck(
  deps: CheckDeps,
  { settings }: Idp,
  config: oidc.Configuration,
  redirectUri: string,
): Promise<IdpCheck> {
  const name = 'authorization';
  const state = randomBytes(16).toString('hex');
  try {
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: settings.scopes.join(' '),
      state,
      nonce: state,
      prompt: 'none',
      code_challenge: await oidc.calculatePKCECodeChallenge(state),
      code_challenge_method: 'S256',
    });
    const answer = await guardOf(deps)(url.href, { method: 'GET' } as Parameters<oidc.CustomFetch>[1]);
    const location = answer.headers.get('location') ?? '';
    if (location.startsWith(redirectUri)) return sentBack(new URL(location).searchParams.get('error'));
    if (answer.status < 400) return { name, ok: true, message: UNTOLD };
    const status = `It answers ${answer.status}`;
    return {
      name,
      ok: false,
      message: `${status}: register the redirect URI ${redirectUri} there, and check clientId.`,
    };
  } catch (error) {
    return { name, ok: false, message: `The sign-in page of the provider does not answer: ${detailOf(error)}.` };
  }
}

const UNTOLD = 'Whether the client id and the redirect URI are right cannot be told before a person signs in.';
/** Nobody is signed in, which is the right answer to `prompt=none`. */
const NOBODY: ReadonlySet<string | null> = new Set([
  ...['login_required', 'interaction_required', 'consent_required', 'account_selection_required', 'access_denied'],
  null,
]);

function sentBack(error: string | null): IdpCheck {
  const name = 'authorization';
  if (NOBODY.has(error)) return { name, ok: true, message: 'The provider knows the client and the redirect URI.' };
  const code = /^[\w.-]{1,60}$/.test(error ?? '') ? error : 'an error';
  return {
    name,
    ok: false,
    message: `The provider refuses the request (${code}). Check the scopes and the client there.`,
  };
}

/** Errors that say that the client did not prove itself. */
const WRONG_CLIENT: ReadonlySet<string | undefined> = new Set([
  ...['invalid_client', 'unauthorized_client', 'incorrect_client_credentials', 'invalid_client_secret'],
]);
/** Errors that say that the code is wrong, and so that the client is right. */
const WRONG_CODE: ReadonlySet<string | undefined> = new Set(['invalid_grant', 'bad_verification_code', 'invalid_code']);

/** Redeems a code that does not exist. */
async function credentialCheck(config: oidc.Configuration, redirectUri: string): Promise<IdpCheck> {
  const name = 'credentials';
  const parameters = { code: 'a-code-that-does-not-exist', redirect_uri: redirectUri, code_verifier: 'v'.repeat(43) };
  const refusal = await oidc.genericGrantRequest(config, 'authorization_code', parameters).then(
    () => undefined,
    (error: unknown) => asProviderError(error),
  );
  if (!refusal) return { name, ok: false, message: 'The provider accepts a code that does not exist.' };
  return { name, ...judge(refusal, redirectUri) };
}

function judge({ code, detail, reason }: ProviderError, redirectUri: string): Omit<IdpCheck, 'name'> {
  if (WRONG_CODE.has(code)) return { ok: true, message: 'The provider accepts the client id and its secret.' };
  if (WRONG_CLIENT.has(code)) {
    return { ok: false, message: `The provider does not accept the client id or its secret (${code}).` };
  }
  if (code === 'redirect_uri_mismatch') {
    return { ok: false, message: `Register the redirect URI ${redirectUri} at the provider (${code}).` };
  }
  if (reason === 'unavailable') return { ok: false, message: `The token endpoint does not answer: ${detail}.` };
  return { ok: true, message: `Whether the secret is right cannot be told: ${detail}.` };
}

/** Paths of old systems that other providers have too: an answer there needs `iss`. */
async function pathChecks({ pool }: CheckDeps, idp: Idp): Promise<IdpCheck[]> {
  const name = 'callbackPaths';
  const [path] = idp.settings.callbackPaths;
  if (path === undefined) return [];
  if (await ownsPath(pool, idp, path)) return [{ name, ok: true, message: `Answers on ${path} are taken.` }];
  const message =
    `Others have the path ${path} too, so answers there are taken only with iss (RFC 9207). ` +
    'Remove it and register our own redirect URI, or have an IAM_OWNER set the provider.';
  return [{ name, ok: false, message }];
}

/** Counting stops here: a larger number would say no more. */
const MOST_LINKS = 10_000;
/** Organizations and providers whose clashes are read. */
const MOST_CLASHES = 1000;
/** Time limit of reading the links: there may be one for each of many millions of users. */
const READ_MS = 5000;
const CANCELLED = '57014';

async function linkCheck(pool: Pool, idp: Idp): Promise<IdpCheck> {
  const name = 'links';
  const count = await inTime(pool, (db) => countLinks(db, idp, MOST_LINKS));
  const found = await inTime(pool, (db) => linkClashes(db, MOST_CLASHES));
  if (count === undefined || !found) return { name, ok: true, message: 'There are too many links to look through.' };
  const own = found.clashes.filter(({ idpId }) => idpId === idp.id);
  const have = `${count}${count === MOST_LINKS ? ' or more' : ''} links belong to it`;
  if (own.length === 0) return { name, ok: true, message: `${have}.` };
  const { accounts, users } = sumOf(own);
  const where = own.map(({ orgId }) => orgId).slice(0, 5);
  const message =
    `${have}. ${accounts} accounts are held by ${users} users of the same organization (${where.join(', ')}), and sign ` +
    'in none of them. Remove the wrong links: GET and DELETE /v2beta/users/{id}/links.';
  return { name, ok: false, message };
}

/** What is read, or undefined if that takes too long. */
async function inTime<T>(pool: Pool, read: (db: Db) => Promise<T>): Promise<T | undefined> {
  try {
    return await transaction(pool, async (db) => {
      await db.query(`set local statement_timeout = ${READ_MS}`);
      return read(db);
    });
  } catch (error) {
    if (sqlState(error) === CANCELLED) return undefined;
    throw error;
  }
}

function sumOf(clashes: readonly Clash[]): { accounts: number; users: number } {
  const sum = (field: 'accounts' | 'users') => clashes.reduce((all, clash) => all + clash[field], 0);
  return { accounts: sum('accounts'), users: sum('users') };
}

/** Providers that one run of `muster doctor` asks, all at the same time. */
const MOST_ASKED = 100;
/** Time limit for all of them together. */
const PATIENCE_MS = 8000;

/**
 * For `muster doctor`: whether the providers of the instance and of the organizations answer, and links that sign in
 * nobody.
 * @param patienceMs for all providers together
 */
export async function providerFacts(deps: CheckDeps, patienceMs: number = PATIENCE_MS): Promise<ProviderFacts> {
  const { idps, all } = await enabledIdps(deps.pool, MOST_ASKED);
  const [providers, found] = await Promise.all([
    Promise.all(idps.map((idp) => answerOf(deps, idp, patienceMs))),
    inTime(deps.pool, (db) => linkClashes(db, MOST_CLASHES)),
  ]);
  const notAsked = all - idps.length;
  return {
    providers,
    ...(notAsked > 0 ? { notAsked } : {}),
    ...(found ? { clashes: sumOf(found.clashes) } : {}),
  };
}

async function answerOf(
  deps: CheckDeps,
  idp: OwnedIdp,
  patienceMs: number,
): Promise<ProviderFacts['providers'][number]> {
  const { id: idpId, name, orgId, orgName } = idp;
  const owner = orgId === null ? {} : { orgId, orgName: orgName ?? orgId };
  const reason = await withTimeout(reach(deps, idp), patienceMs, 'the provider').then(
    ({ checks }) => checks.find(({ ok }) => !ok)?.message,
    (error: unknown) =>
      error instanceof TimedOut
        ? `It has not answered within ${patienceMs / 1000} s.`
        : 'It cannot be asked: its stored settings or its secret cannot be read.',
  );
  return { idpId, name, ...owner, answers: reason === undefined, ...(reason === undefined ? {} : { reason }) };
}
