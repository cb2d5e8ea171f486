/**
 * The token endpoint of an authorization server, with the password grant (RFC 6749, section 4.3): Auth0, Keycloak,
 * FusionAuth, Okta, Entra (ROPC). The tokens are thrown away.
 *
 * Guarantee: `invalid_grant` alone means no. A wrong client, a grant that is switched off and an overloaded server mean
 * that nothing is known.
 */
import {
  ask,
  type Check,
  type CheckOptions,
  codeOf,
  NO,
  notTold,
  type SourceAnswer,
  unavailable,
  YES,
  YES_MUST_CHANGE,
} from './answer.ts';

export interface OauthPasswordSettings {
  tokenUrl: string;
  clientId: string;
  clientAuth: 'post' | 'basic';
  scope?: string;
  audience?: string;
  /** A connection of Auth0; the grant is then Auth0's `password-realm`. */
  realm?: string;
}
export interface OauthPasswordSecrets {
  clientSecret?: string;
}

const PASSWORD_REALM = 'http://auth0.com/oauth/grant-type/password-realm';

/** Errors after the right password: a second factor is next. */
const SECOND_STEP = ['mfa_required', 'two_factor_required', 'mfa_enrollment_required'];
/**
 * Codes of Entra in `error_codes` (AADSTS…) for a right password with a second step: MFA is required, or must be set
 * up.
 */
const ENTRA_SECOND_STEP = [50076, 50079];
/** Entra's codes of a wrong password, an unknown user and a disabled one. */
const ENTRA_WRONG = [50126, 50034, 50056, 50057];

/** Asks a token endpoint about a password. */
export async function checkOauthPassword(
  { tokenUrl, clientId, clientAuth, clientSecret, ...parameters }: OauthPasswordSettings & OauthPasswordSecrets,
  { name, password }: Check,
  options: CheckOptions,
): Promise<SourceAnswer> {
  const isBasic = clientAuth === 'basic' && clientSecret !== undefined;
  const form = new URLSearchParams({
    grant_type: parameters.realm === undefined ? 'password' : PASSWORD_REALM,
    username: name,
    password,
    ...(isBasic ? {} : { client_id: clientId }),
    ...(isBasic || clientSecret === undefined ? {} : { client_secret: clientSecret }),
  });
  for (const [parameter, value] of Object.entries(parameters)) if (value !== undefined) form.set(parameter, value);
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    ...(isBasic ? { authorization: basic(clientId, clientSecret) } : {}),
  };
  const answer = await ask(tokenUrl, headers, String(form), options);
  return 'reason' in answer ? unavailable(answer.reason, true) : answerOf(answer.status, answer.json);
}

/** RFC 6749, section 2.3.1: both parts are form-encoded first. */
function basic(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams({ a: text }).toString().slice(2);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}

function answerOf(status: number, json: Record<string, unknown>): SourceAnswer {
  if (status === 200) {
    const hasToken = typeof json.access_token === 'string' || typeof json.id_token === 'string';
    return hasToken ? YES : unavailable('answered 200 without a token');
  }
  const { error } = json;
  if (SECOND_STEP.includes(String(error))) return YES;
  if (error === 'change_password_required') return YES_MUST_CHANGE;
  if (error !== 'invalid_grant') return notTold(status, codeOf(error));
  const codes: unknown[] = Array.isArray(json.error_codes) ? json.error_codes : [];
  if (codes.some((code) => ENTRA_SECOND_STEP.includes(Number(code)))) return YES;
  // Keycloak checks the password before it looks for steps that the user has still to take.
  if (json.error_description === 'Account is not fully set up') return YES;
  if (codes.length > 0 && !codes.some((code) => ENTRA_WRONG.includes(Number(code)))) {
    return unavailable(`answered ${status} (AADSTS${Number(codes[0])})`);
  }
  return NO;
}
