/**
 * Which requests count against the limit of login attempts: those that try a password, a code or a client secret, or
 * request an email or a code. Where that depends on the body, the handler calls `countTry`.
 */
import type { Request } from 'express';

const OF_USER = 'email/verify|email/resend|phone/verify|phone/resend|password|password_reset|totp/verify';
const OF_SOURCE = 'management/v1/password_sources/[^/]+/_test';
/** Matches as the router does: ignores case and a trailing slash. The console passes calls on to the API. */
const ATTEMPT = new RegExp(
  `^(?:/console/api)?/(?:v2beta/sessions|v2beta/users/[^/]+/(?:${OF_USER})|oauth/v2/(?:token|device_authorization)|${OF_SOURCE}|ui/.*)/?$`,
  'i',
);

/** Asks for the path as the router reads it: a request may be for `/path#`, or for `http://host/path`. */
export function isAttempt(req: Request): boolean {
  return req.method === 'POST' && ATTEMPT.test(req.path);
}
