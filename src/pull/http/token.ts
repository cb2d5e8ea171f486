/** Access tokens by client credentials (RFC 6749 section 4.4) or another grant, renewed before they expire. */
import { PullError } from '../system.ts';
import type { Http } from './http.ts';

const RENEW_BEFORE_MS = 60_000;
const USUAL_S = 300;

/**
 * Returns a function that returns a valid token.
 * @param form parameters of the request; its grant is client credentials unless they name another one
 */
export function clientToken(
  http: Http,
  url: string,
  form: Record<string, string> | (() => Record<string, string>),
): () => Promise<string> {
  let token = '';
  let expiresAt = 0;
  return async () => {
    if (Date.now() < expiresAt - RENEW_BEFORE_MS) return token;
    const given = typeof form === 'function' ? form() : form;
    const { body } = await http.json<{ access_token?: string; expires_in?: number }>(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...given }).toString(),
    });
    if (typeof body.access_token !== 'string') throw new PullError('failed', 'The answer has no access token.');
    token = body.access_token;
    expiresAt = Date.now() + Math.max(Number(body.expires_in ?? USUAL_S) * 1000, 2 * RENEW_BEFORE_MS);
    return token;
  };
}
