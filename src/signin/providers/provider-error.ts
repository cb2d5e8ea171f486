/** Why a provider did not confirm who somebody is, from the errors of the libraries. */
import { errors as jose } from 'jose';
import * as oidc from 'openid-client';
import { NoAnswer } from '../../platform/http/outgoing.ts';

/** `detail` is for the log and for owners of the provider; it holds no code, token or data of a user. */
export class ProviderError extends Error {
  readonly reason: 'unavailable' | 'refused' | 'cancelled' | 'not-trusted';
  readonly detail: string;
  /** The code of the provider's error, such as `invalid_client`. */
  readonly code: string | undefined;

  constructor(reason: ProviderError['reason'], detail: string, code?: string) {
    super(detail);
    this.reason = reason;
    this.detail = detail;
    this.code = code;
  }
}

/** What providers answer when the person did not want to, or the provider would have had to ask. */
const CANCELLED: ReadonlySet<string> = new Set([
  ...['access_denied', 'login_required', 'interaction_required', 'consent_required', 'account_selection_required'],
  ...['user_cancelled_authorize', 'user_cancelled_login', 'user_cancelled_request'],
]);
const LATER: ReadonlySet<string> = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);

/** The error in the terms of a sign-in; what is no error of a provider is rethrown. */
export function asProviderError(error: unknown): ProviderError {
  const chain = causesOf(error);
  const own = chain.find((each) => each instanceof ProviderError);
  if (own) return own;
  const silent = chain.find((each) => each instanceof NoAnswer);
  if (silent) return new ProviderError('unavailable', silent.message);
  if (error instanceof oidc.AuthorizationResponseError) return ofAnswer(error.error);
  if (error instanceof oidc.ResponseBodyError) {
    const code = shortCode(error.error);
    const isLater = error.status >= 500 || LATER.has(error.error);
    return new ProviderError(isLater ? 'unavailable' : 'refused', `the token request was answered ${code}`, code);
  }
  if (error instanceof oidc.WWWAuthenticateChallengeError) {
    return new ProviderError('refused', `the request was refused with ${error.status}`, 'invalid_client');
  }
  if (error instanceof oidc.ClientError) return ofClient(error, chain);
  if (error instanceof jose.JOSEError) {
    const isFetch = error.code === 'ERR_JOSE_GENERIC' || error instanceof jose.JWKSTimeout;
    return new ProviderError(isFetch ? 'unavailable' : 'not-trusted', `${error.code}: ${error.message}`.slice(0, 300));
  }
  throw error;
}

function ofAnswer(error: string): ProviderError {
  const code = shortCode(error);
  const detail = `the provider answered ${code}`;
  if (CANCELLED.has(error)) return new ProviderError('cancelled', detail, code);
  return new ProviderError(LATER.has(error) ? 'unavailable' : 'refused', detail, code);
}

/** Answers that are no answers of the protocol: an error page, another content, a redirect. */
const NO_PROTOCOL: ReadonlySet<string> = new Set([
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
]);

function ofClient(error: oidc.ClientError, chain: readonly Error[]): ProviderError {
  const answered = errorInBody(error);
  if (answered !== undefined) {
    return new ProviderError('refused', `the token request was answered ${answered}`, answered);
  }
  const messages = [...new Set(chain.map(({ message }) => message))].join(': ');
  const isNoAnswer = error.code !== undefined && NO_PROTOCOL.has(error.code);
  return new ProviderError(isNoAnswer ? 'unavailable' : 'not-trusted', messages.slice(0, 300));
}

/** GitHub answers errors of the token endpoint with status 200. */
function errorInBody(error: Error): string | undefined {
  const cause = error.cause instanceof Error ? error.cause.cause : undefined;
  const body = (cause as { body?: { error?: unknown } } | undefined)?.body;
  return typeof body?.error === 'string' ? shortCode(body.error) : undefined;
}

function causesOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let each = error; each instanceof Error && chain.length < 5; each = each.cause) chain.push(each);
  return chain;
}

/** A code of the other side for a message: only what looks like one. */
function shortCode(code: string): string {
  return /^[\w.-]{1,60}$/.test(code) ? code : 'an unknown error';
}
