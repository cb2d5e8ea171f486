/**
 * The authorization server of a service, as `muster login` and the renewal of its tokens see it.
 *
 * Guarantee: its metadata comes from the very service that was named (RFC 8414 section 3.3); what goes wrong is a Failure
 * that says what to do, without any token in it.
 */
import * as oidc from 'openid-client';
import { CLI_CLIENT } from '../../identity/oauth/cli-client.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { printable } from '../terminal/output.ts';
import { Unreachable } from './api.ts';
import { Stranger } from './refusal.ts';
import type { Login } from './settings.ts';

export type Server = oidc.Configuration;
export type Tokens = oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers;

/** Of one request, in seconds. */
const TIMEOUT_S = 15;

/** @throws Failure when nothing answers there, or not as the service of that address */
export async function findServer(url: string): Promise<Server> {
  // Without TLS as well: a service on this machine or in a network of one's own; `warnOfPlainHttp` says so.
  const options = { execute: [oidc.allowInsecureRequests], timeout: TIMEOUT_S };
  try {
    return await oidc.discovery(new URL(url), CLI_CLIENT.client_id, undefined, oidc.None(), options);
  } catch (error) {
    throw notFound(url, error);
  }
}

function notFound(url: string, error: unknown): Failure {
  const issuer = otherIssuer(error);
  if (issuer) {
    const message = `The service at ${url} says that its address is ${printable(issuer)}.`;
    return new Failure(message, {
      exitCode: EXIT.usage,
      advice: `Use that one (--url ${printable(issuer)}), or set BASE_URL of the service.`,
    });
  }
  if (isOfNetwork(error)) return new Unreachable(url, error);
  return new Stranger(url);
}

/** The issuer that the metadata names, where it is not the one that was asked. */
function otherIssuer(error: unknown): string | undefined {
  const { code, cause } = error as { code?: string; cause?: { body?: { issuer?: unknown } } };
  const issuer = code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' ? cause?.body?.issuer : undefined;
  return typeof issuer === 'string' ? issuer : undefined;
}

/** Refused, unknown host, timed out; or a status that says that the service is away. */
function isOfNetwork(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: unknown };
  if (cause instanceof Response) return cause.status >= 500;
  return code === 'OAUTH_TIMEOUT' || (error instanceof TypeError && code === undefined);
}

/**
 * Of an error of the token endpoint and its neighbours.
 * @param what a sentence that says what did not work
 */
export function oauthFailure(url: string, what: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError) {
    const said = error.error_description ? ` (${printable(error.error_description)})` : '';
    return new Failure(`${what}: ${printable(error.error)}${said}.`, {
      exitCode: EXIT.denied,
      advice: 'Run `muster login` again.',
    });
  }
  if (isOfNetwork(error)) return new Unreachable(url, error);
  return new Failure(`${what}.`, { exitCode: EXIT.denied, advice: 'Run `muster login` again.' });
}

/** What is kept of an answer. */
export function loginOf(tokens: Tokens, before?: Login): Login {
  const seconds = tokens.expiresIn();
  return {
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? before?.refreshToken,
    expiresAt: seconds === undefined ? undefined : Date.now() + seconds * 1000,
  };
}

/** Ends the login that a refresh token belongs to. @throws Failure when the service cannot be told */
export async function revoke(url: string, refreshToken: string): Promise<void> {
  const server = await findServer(url);
  try {
    await oidc.tokenRevocation(server, refreshToken);
  } catch (error) {
    throw oauthFailure(url, 'The login was not ended', error);
  }
}

/** @throws Failure when the service does not take the refresh token any more, or does not answer */
export async function refresh(url: string, login: Login & { refreshToken: string }): Promise<Login> {
  const server = await findServer(url);
  try {
    return loginOf(await oidc.refreshTokenGrant(server, login.refreshToken), login);
  } catch (error) {
    throw oauthFailure(url, 'The login has ended', error);
  }
}
