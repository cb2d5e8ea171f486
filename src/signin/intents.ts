/**
 * Sign-ins at an external provider for programs with sign-in pages of their own: a program starts an intent and gets the
 * address to send the browser to; the browser comes back (providers/callbacks.ts) to the program's success URL with a
 * token, and the token tells the program who it is and opens one session.
 *
 * Guarantee: a token is good only for who started the intent, for users of the organization that it was started for, for
 * ten minutes, and for one session. It goes only to an address that the organization allows for the links in its emails.
 * Whom it signs in, and whether a second factor is asked for, is decided as on the log-in page (providers/sign-in.ts).
 * On crash: at most the token was used; the person signs in at the provider again.
 */
import { Router } from 'express';
import type { z } from 'zod';
import { type intentCheck, type newIntent, idpIntentOperations as operations } from '../contract/idp-intents.ts';
import { type Caller, permissionDenied, selectedOrg } from '../contract/permissions.ts';
import { type Asked, type OrgsOfBody, orgsOfBody, serve } from '../contract/serve.ts';
import { requireAllowedTemplate } from '../directory/users/routes.ts';
import { details } from '../platform/db/events.ts';
import type { Pool } from '../platform/db/pool.ts';
import { ApiError, invalidArgument } from '../platform/errors.ts';
import { publish } from '../platform/telemetry.ts';
import { type FactorAttempt, isGiven } from './factors/second-factor.ts';
import { type CheckedLogin, checkAfterPassword, type PasswordProof, wrongCredentials } from './login/check.ts';
import type { LoginDeps, Origin } from './login/origin.ts';
import { ProviderError } from './providers/protocol.ts';
import { beginTrip, intentResult, type TripDeps, type TripResult } from './providers/round-trip.ts';
import { checkByProvider, failureOf, type Provided, recordNobody, signInByProvider } from './providers/sign-in.ts';
import { findIdp, type Idp } from './providers/store.ts';

type IntentDeps = TripDeps;

/** Routes that start an intent, and tell who signed in. */
export function intentRoutes(deps: IntentDeps): Router {
  const router = Router();
  serve(router, operations.startIdpIntent, orgsOfBody, (asked) => start(deps, asked));
  serve(router, operations.retrieveIdpIntent, orgsOfBody, async ({ caller, target, params, body }) => {
    target.allow();
    const check = { idpIntentId: params.idpIntentId, idpIntentToken: body.idpIntentToken };
    const { orgId, ...given } = await openIntent(deps, caller, check);
    target.allow(orgId);
    const { idp, identity } = given;
    const userId = await userOfAnswer(deps, { ...given, orgId });
    const idpInformation = {
      idpId: idp.id,
      userId: identity.subjects[0] ?? '',
      userName: identity.userName ?? identity.email ?? identity.name ?? '',
      rawInformation: identity.claims,
    };
    return { details: detailsOf(idp, orgId), idpInformation, ...(userId === undefined ? {} : { userId }) };
  });
  return router;
}

interface NewIntent extends Asked {
  target: OrgsOfBody;
  body: z.output<typeof newIntent>;
}

async function start(deps: IntentDeps, { caller, target, body: { idpId, urls }, req, res }: NewIntent) {
  const idp = await findIdp(deps.pool, idpId);
  const orgId = idp?.orgId ?? selectedOrg(req, caller);
  target.allow(...(idp ? [orgId] : []));
  if (!idp?.settings.isEnabled) throw idp || caller.isIamOwner ? notFound() : permissionDenied();
  for (const [name, url] of Object.entries(urls)) await requireAllowedTemplate(deps, orgId, `urls.${name}`, url);
  try {
    const intent = { idp, purpose: 'intent', orgId, userId: caller.userId, urls, ask: {} } as const;
    const authUrl = await beginTrip(deps, req, res, intent);
    return { details: detailsOf(idp, orgId), authUrl: authUrl.href };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    await recordNobody(deps.pool, idp, 'provider_unavailable', orgId);
    throw new ApiError('UNAVAILABLE', 'IDP-UNAVAILABLE', 'The identity provider does not answer as it should.');
  }
}

function notFound(): ApiError {
  return new ApiError('NOT_FOUND', 'IDP-NOT-FOUND', 'The identity provider does not exist, or is switched off.');
}

function detailsOf({ sequence, changedAt }: Idp, orgId: string) {
  return details({ sequence, changedAt, resourceOwner: orgId });
}

/**
 * Whom the answer of a provider signs in, when the browser comes back; undefined if nobody. Links and creates users as the
 * rules say. Records why nobody is signed in, as the log-in page does.
 */
export async function concludeIntent({ pool }: { pool: Pool }, result: TripResult): Promise<string | undefined> {
  const { idp, identity, error, orgId } = result;
  if (!identity) {
    await recordNobody(pool, idp, failureOf(error), orgId);
    return undefined;
  }
  const decision = await signInByProvider({ pool }, { idp, identity, orgId });
  if (decision.is === 'refused') await recordNobody(pool, idp, decision.reason, orgId);
  if (decision.is === 'confirm') publish('provider', { idpId: idp.id, outcome: 'confirm' });
  return decision.is === 'user' ? decision.userId : undefined;
}

async function userOfAnswer(deps: { pool: Pool }, given: Provided): Promise<string | undefined> {
  const decision = await signInByProvider(deps, given);
  return decision.is === 'user' ? decision.userId : undefined;
}

type IntentCheck = z.output<typeof intentCheck>;

/** @throws ApiError 404 IDP-INTENT-NOT-FOUND, 400 IDP-INTENT-TOKEN */
async function openIntent(
  deps: Pick<IntentDeps, 'pool' | 'secrets'>,
  caller: Caller,
  { idpIntentId, idpIntentToken }: IntentCheck,
): Promise<Provided & { orgId: string }> {
  const found = await intentResult(deps, { id: idpIntentId, token: idpIntentToken, use: false });
  if (!found) throw (await isIntent(deps.pool, idpIntentId)) ? wrongToken() : intentNotFound();
  const { userId: starter, orgId, result } = found;
  if (starter !== caller.userId || orgId === undefined || !result.idp.settings.isEnabled) throw intentNotFound();
  if (!result.identity) throw wrongToken();
  return { idp: result.idp, identity: result.identity, orgId };
}

async function isIntent(pool: Pool, id: string): Promise<boolean> {
  const text = `select from idp_round_trips where id = $1 and purpose = 'intent' and expires_at > now()`;
  return (await pool.query(text, [id])).rowCount === 1;
}

function intentNotFound(): ApiError {
  const message = 'The intent does not exist, has expired, or was started by somebody else.';
  return new ApiError('NOT_FOUND', 'IDP-INTENT-NOT-FOUND', message);
}

function wrongToken(): ApiError {
  return invalidArgument('IDP-INTENT-TOKEN', 'The token is not that of the intent, or has opened a session.');
}

/** A sign-in of a user that a program proves with an intent. */
export interface IntentLogin {
  user: { id: string; orgId: string };
  intent: IntentCheck;
  second: FactorAttempt;
  origin: Origin;
}

/**
 * Checks that the intent signs in this user, and uses up its token once everything else is right.
 * @throws ApiError 404 IDP-INTENT-NOT-FOUND; 400 IDP-INTENT-TOKEN, SESSION-CREDENTIALS when the account is not linked to
 *   the user or the provider may not sign them in; and as `checkAfterPassword`
 */
export async function checkIntent(
  deps: LoginDeps,
  caller: Caller,
  { user, intent, second, origin }: IntentLogin,
): Promise<CheckedLogin> {
  const { orgId, ...given } = await openIntent(deps, caller, intent);
  if (orgId !== user.orgId) throw wrongCredentials();
  const login = await enter(deps, { ...given, orgId, userId: user.id }, origin, second);
  const used = { id: intent.idpIntentId, token: intent.idpIntentToken, use: true };
  if (!(await intentResult(deps, used))) throw wrongToken();
  publish('provider', { idpId: given.idp.id, outcome: 'succeeded' });
  return login;
}

async function enter(
  deps: LoginDeps,
  given: Provided & { userId: string },
  origin: Origin,
  second: FactorAttempt,
): Promise<CheckedLogin> {
  let proof: PasswordProof | undefined;
  try {
    return await checkByProvider(deps, given, origin, (by) => {
      proof = by;
    });
  } catch (error) {
    const isIncomplete = error instanceof ApiError && error.id === 'SESSION-TOTP-REQUIRED';
    if (!isIncomplete || !proof || !isGiven(second.factor)) throw error;
    return checkAfterPassword(deps, proof, origin, second);
  }
}
