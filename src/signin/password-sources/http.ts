/**
 * A source of your own: an HTTP endpoint that says whether a password is right. The request is signed like a webhook
 * (Standard Webhooks).
 *
 * Guarantee: only a JSON object with `valid: true` and status 200 counts as yes, so that an error page or the login
 * page of a proxy never lets anybody in.
 */
import { signatureHeaders } from '../../messages/webhooks/signature.ts';
import { newId } from '../../platform/ids.ts';
import {
  ask,
  type Check,
  type CheckOptions,
  NO,
  notTold,
  type SourceAnswer,
  unavailable,
  YES,
  YES_MUST_CHANGE,
} from './answer.ts';

export interface HttpSettings {
  url: string;
}
/** `secret`: as `newWebhookSecret` makes it. */
export interface HttpSecrets {
  secret: string;
}

/** Asks an endpoint about a password. */
export async function checkHttp(
  { url, secret }: HttpSettings & HttpSecrets,
  { name, password, user }: Check,
  options: CheckOptions,
): Promise<SourceAnswer> {
  const body = JSON.stringify({ userName: name, password, ...(user ? { userId: user.id, email: user.email } : {}) });
  const id = `pwd_${newId().replaceAll('-', '')}`;
  const headers = { 'content-type': 'application/json', ...signatureHeaders(secret, { id, at: Date.now(), body }) };
  const answer = await ask(url, headers, body, options);
  if ('reason' in answer) return unavailable(answer.reason, true);
  const { status, json } = answer;
  if (status !== 200) return notTold(status);
  if (json.valid === true) return json.passwordChangeRequired === true ? YES_MUST_CHANGE : YES;
  return json.valid === false ? NO : unavailable('answered 200 without the field "valid"');
}
