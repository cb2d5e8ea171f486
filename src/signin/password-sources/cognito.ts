/**
 * A user pool of Amazon Cognito: `InitiateAuth` with USER_PASSWORD_AUTH, which needs no credentials of AWS. The app
 * client must allow ALLOW_USER_PASSWORD_AUTH. The tokens are thrown away.
 *
 * Guarantee: a wrong SECRET_HASH, a flow that is not allowed and throttling mean that nothing is known, although
 * Cognito answers some of them with the error of a wrong password.
 */
import { createHmac } from 'node:crypto';
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

export interface CognitoSettings {
  region: string;
  clientId: string;
  /** For a VPC endpoint or FIPS; absent: that of the region. */
  endpoint?: string;
}
export interface CognitoSecrets {
  clientSecret?: string;
}

/** Challenges that follow the right password. */
const SECOND_STEP = [
  'SMS_MFA',
  'EMAIL_OTP',
  'SMS_OTP',
  'SOFTWARE_TOKEN_MFA',
  'SELECT_MFA_TYPE',
  'MFA_SETUP',
  'DEVICE_SRP_AUTH',
];
/** Messages of NotAuthorizedException about the password or the user; it has others, which are about the client. */
const WRONG = ['Incorrect username or password.', 'User is disabled.', 'User does not exist.'];

/** Asks a user pool about a password. */
export async function checkCognito(
  { region, clientId, endpoint, clientSecret }: CognitoSettings & CognitoSecrets,
  { name, password }: Check,
  options: CheckOptions,
): Promise<SourceAnswer> {
  const body = JSON.stringify({
    AuthFlow: 'USER_PASSWORD_AUTH',
    ClientId: clientId,
    AuthParameters: {
      USERNAME: name,
      PASSWORD: password,
      ...(clientSecret === undefined ? {} : { SECRET_HASH: secretHash(clientSecret, name, clientId) }),
    },
  });
  const headers = {
    'content-type': 'application/x-amz-json-1.1',
    'x-amz-target': 'AWSCognitoIdentityProviderService.InitiateAuth',
  };
  const url = endpoint ?? `https://cognito-idp.${region}.amazonaws.com/`;
  const answer = await ask(url, headers, body, options);
  return 'reason' in answer ? unavailable(answer.reason, true) : answerOf(answer.status, answer.json);
}

/** What Cognito asks of a client with a secret: an HMAC of the user name and the client id. */
export function secretHash(clientSecret: string, name: string, clientId: string): string {
  return createHmac('sha256', clientSecret).update(`${name}${clientId}`).digest('base64');
}

function answerOf(status: number, json: Record<string, unknown>): SourceAnswer {
  if (status === 200) return answerOfSuccess(json);
  // `com.amazonaws…#NotAuthorizedException` in some versions of the protocol
  const type = String(json.__type ?? '').replace(/^.*#/, '');
  if (type === 'UserNotFoundException') return NO;
  if (type === 'NotAuthorizedException' && WRONG.includes(String(json.message))) return NO;
  // The user must first choose a password or confirm the account there, so no password is right.
  if (type === 'PasswordResetRequiredException' || type === 'UserNotConfirmedException') return NO;
  return notTold(status, codeOf(type));
}

function answerOfSuccess(json: Record<string, unknown>): SourceAnswer {
  if (typeof json.AuthenticationResult === 'object' && json.AuthenticationResult !== null) return YES;
  if (json.ChallengeName === 'NEW_PASSWORD_REQUIRED') return YES_MUST_CHANGE;
  if (SECOND_STEP.includes(String(json.ChallengeName))) return YES;
  return unavailable(`answered with an unknown challenge${codeOf(json.ChallengeName)}`);
}
