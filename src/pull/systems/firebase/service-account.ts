/**
 * The key of a Google service account, and the assertion that it signs for an access token.
 *
 * https://developers.google.com/identity/protocols/oauth2/service-account#httprest (RFC 7523)
 */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { UsageError } from '../../../sources/source.ts';
import { isFields, parseJson, textAt } from '../../../sources/values.ts';
import { baseUrl } from '../../settings.ts';

const SCOPE = 'https://www.googleapis.com/auth/identitytoolkit';
const VALID_S = 3600;

export interface ServiceAccount {
  email: string;
  key: KeyObject;
  keyId: string | undefined;
  project: string | undefined;
  tokenUrl: string;
}

/** @param text the JSON key file @throws UsageError, which does not repeat any of it */
export function serviceAccountOf(text: string): ServiceAccount {
  const file = parseJson(text);
  const broken = new UsageError(
    'PULL_SERVICE_ACCOUNT must be the JSON key of a service account: PULL_SERVICE_ACCOUNT="$(cat key.json)".',
  );
  if (!isFields(file)) throw broken;
  const [email, pem] = [textAt(file, 'client_email'), textAt(file, 'private_key')];
  if (email === undefined || pem === undefined) throw broken;
  try {
    return {
      email,
      key: createPrivateKey(pem),
      keyId: textAt(file, 'private_key_id'),
      project: textAt(file, 'project_id'),
      tokenUrl: baseUrl('token_uri', textAt(file, 'token_uri') ?? 'https://oauth2.googleapis.com/token'),
    };
  } catch {
    throw broken;
  }
}

/** The form of a request for an access token. */
export function assertionForm({ email, key, keyId, tokenUrl }: ServiceAccount, now: number): Record<string, string> {
  const issued = Math.floor(now / 1000);
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
  const claims = { iss: email, scope: SCOPE, aud: tokenUrl, iat: issued, exp: issued + VALID_S };
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = sign('sha256', Buffer.from(text), key).toString('base64url');
  return { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: `${text}.${signature}` };
}
