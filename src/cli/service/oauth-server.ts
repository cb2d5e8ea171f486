/**
 * The authorization server of a service, as `muster login` and the renewal of tokens use it.
 *
 * Guarantee: its metadata comes from the service that was asked (RFC 8414 section 3.3); an error becomes a Failure that
 * says what to do and contains no token.
 */
import * as oidc from 'openid-client';
import { CLI_CLIENT, CLI_LOGIN_METADATA } from '../../contract/own-clients.ts';
import { EXIT, Failure, wrongUsage } from '../terminal/failure.ts';
import { printable } from '../terminal/output.ts';
import { Stranger, Unreachable } from './api.ts';
import type { Login } from './settings.ts';

export type Server = oidc.Configuration;
export type Tokens = oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers;

/** Time limit of one request, in seconds. */
const TIMEOUT_S = 15;

/** @throws Failure when nothing answers there, or what answers is not the service of that URL */
export async function findServer(url: string): Promise<Server> {
  // Plain HTTP is allowed, for a service on this machine or in a private network; `warnOfPlainHttp` warns.
  const options = { execute: [oidc.allowInsecureRequests], timeout: TIMEOUT_S };
  try {
    return await oidc.discovery(new URL(url), CLI_CLIENT.client_id, undefined, oidc.None(), options);
  } catch (error) {
    throw notFound(url, error);
  }
}

/**
 * @param device whether the login is to be by a code that is entered elsewhere
 * @throws Failure when the service does not allow this login
 */
export function requireCliLogin(server: Server, url: string, device: boolean): void {
  const allowed = server.serverMetadata()[CLI_LOGIN_METADATA];
  if (allowed === undefined || (allowed === 'browser' && !device)) return;
  const way = allowed === 'browser' ? '`muster login --device`' : '`muster login` through a browser';
  throw new Failure(`The service at ${url} does not allow ${way} (its setting CLI_LOGIN).`, {
    exitCode: EXIT.denied,
    advice:
      'Ask an administrator for a personal access token, and use it with `--token-file FILE` or `muster login --token < FILE`.',
  });
}

function notFound(url: string, error: unknown): Failure {
  const issuer = otherIssuer(error);
  if (issuer) {
    const message = `The service at ${url} says that its URL is ${printable(issuer)}.`;
    return wrongUsage(message, `Use that one (--url ${printable(issuer)}), or correct BASE_URL of the service.`);
  }
  if (isOfNetwork(error)) return new Unreachable(url, error);
  return new Stranger(url);
}

/** The issuer that the metadata names, if it differs from the URL that was asked. */
function otherIssuer(error: unknown): string | undefined {
  const { code, cause } = error as { code?: string; cause?: { body?: { issuer?: unknown } } };
  const issuer = code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' ? cause?.body?.issuer : undefined;
  return typeof issuer === 'string' ? issuer : undefined;
}

/** Connection refused, unknown host, time-out; or a status of 500 and above. */
function isOfNetwork(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: unknown };
  if (cause instanceof Response) return cause.status >= 500;
  return code === 'OAUTH_TIMEOUT' || (error instanceof TypeError && code === undefined);
}

/**
 * The Failure for an error of the token endpoint or of a related one.
 * @param what failed, as a sentence without its full stop
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

/** What is stored of a token response. */
export function loginOf(tokens: Tokens, before?: Login): Login {
  const seconds = tokens.expiresIn();
  return {
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? before?.refreshToken,
    expiresAt: seconds === undefined ? undefined : Date.now() + seconds * 1000,
  };
}

/** Ends the login that a refresh token belongs to. @throws Failure when the service refuses or does not answer */
export async function revoke(url: string, refreshToken: string): Promise<void> {
  const server = await findServer(url);
  try {
    await oidc.tokenRevocation(server, refreshToken);
  } catch (error) {
    throw oauthFailure(url, 'The login was not ended', error);
  }
}

/** @throws Failure when the service no longer accepts the refresh token, or does not answer */
export async function refresh(url: string, login: Login & { refreshToken: string }): Promise<Login> {
  const server = await findServer(url);
  try {
    return loginOf(await oidc.refreshTokenGrant(server, login.refreshToken), login);
  } catch (error) {
    throw oauthFailure(url, 'The login has ended', error);
  }
}
