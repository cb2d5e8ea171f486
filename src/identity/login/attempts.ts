/**
 * Which requests try a password, a code or a client's secret, or ask for a mail or a code: those that guessing is made of.
 * Some others do so by their body; their handlers call `countTry`.
 */
import type { Request } from 'express';
import { pathOf } from '../../http/access-log.ts';

const OF_USER = 'email/verify|email/resend|phone/verify|phone/resend|password|password_reset|totp/verify';
/** As routes are found: without regard to case and to a last slash. */
const ATTEMPT = new RegExp(
  `^/(?:v2beta/sessions|v2beta/users/[^/]+/(?:${OF_USER})|oauth/v2/(?:token|device_authorization)|ui/.*)/?$`,
  'i',
);

export function isAttempt(req: Request): boolean {
  return req.method === 'POST' && ATTEMPT.test(pathOf(req));
}
