/**
 * Cross-origin requests of browsers (Fetch standard): which web pages may call the service, and read its responses.
 *
 * Guarantee: no page gets more than a program with the same token, as credentials mode is off: browsers send no cookies
 * with such requests. Preflight requests are answered before authentication, as they never carry a token.
 */
import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../errors.ts';
import { pathOf } from './access-log.ts';
import { allowedMethods } from './allowed-methods.ts';

/** Paths of programs. Pages for people, health and metrics have no cross-origin callers. */
const SHARED = /^\/(?:admin|auth|management|v2beta|oauth|oidc|\.well-known)\//i;
/** Every page may read these: they are the same for all, and a client reads them before it is known. */
const OPEN = /^\/(?:\.well-known\/|oauth\/v2\/keys\/?$)/i;

const REQUEST_HEADERS = [
  ...['Authorization', 'Content-Type', 'Content-Encoding', 'Idempotency-Key', 'Last-Event-ID', 'Prefer'],
  ...['X-Request-Id', 'X-Service-OrgId', 'X-Zitadel-OrgId'],
].join(', ');
const RESPONSE_HEADERS = [
  ...['Allow', 'Content-Disposition', 'Location', 'Preference-Applied', 'Retry-After', 'WWW-Authenticate'],
  'X-Request-Id',
].join(', ');
/** Seconds for which a browser keeps the answer to a preflight request; browsers allow two hours at most. */
const MAX_AGE_S = '3600';

export interface CorsDeps {
  /** The mounted routes. */
  routes: () => unknown;
  /** Whether pages of this origin may call. */
  isKnown: (origin: string) => Promise<boolean>;
}

/** Mount it before everything that may respond, so that pages can read errors too. */
export function cors({ routes, isKnown }: CorsDeps): RequestHandler {
  return async (req, res, next) => {
    if (!SHARED.test(req.path)) return next();
    res.vary('Origin');
    const origin = req.get('origin');
    if (origin === undefined) return next();
    const isOpen = OPEN.test(req.path);
    const isAllowed = isOpen || (await isKnown(origin));
    if (isAllowed) res.set('Access-Control-Allow-Origin', isOpen ? '*' : origin);
    if (isPreflight(req)) {
      if (!isAllowed) throw unknownOrigin();
      const methods = allowedMethods(routes(), pathOf(req));
      if (methods.length > 0) return allow(res, methods);
    }
    if (isAllowed) res.set('Access-Control-Expose-Headers', RESPONSE_HEADERS);
    next();
  };
}

function isPreflight(req: Request): boolean {
  return req.method === 'OPTIONS' && req.get('access-control-request-method') !== undefined;
}

function allow(res: Response, methods: string[]): void {
  res.set({
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': REQUEST_HEADERS,
    'Access-Control-Max-Age': MAX_AGE_S,
  });
  res.status(204).end();
}

function unknownOrigin(): ApiError {
  const message = 'The origin must be that of a redirect URI of a registered client.';
  return new ApiError('PERMISSION_DENIED', 'CORS-ORIGIN', message);
}

/** Lets a handler with rules of its own decide for its response. */
export function withoutCors(res: Response): void {
  for (const name of ['Allow-Origin', 'Expose-Headers']) res.removeHeader(`Access-Control-${name}`);
}
