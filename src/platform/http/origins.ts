/**
 * What other web pages may do with the service: cross-origin requests (Fetch standard), forms that another site sends
 * on behalf of its visitors, and the headers that tell browsers the limits of every response.
 */
import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../errors.ts';
import { allowedMethods } from './methods.ts';
import { pathOf } from './requests.ts';

/** Paths of programs. Pages for people, health and metrics have no cross-origin callers. */
const SHARED = /^\/(?:(?:admin|auth|management|v2beta|oauth|oidc|\.well-known)\/|zitadel\.)/i;
/** Paths that every page may read: the answers are the same for all, and a client reads them before it is known. */
const OPEN = /^\/(?:\.well-known\/|oauth\/v2\/keys\/?$)/i;

const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'Content-Encoding',
  'Connect-Protocol-Version',
  'Connect-Timeout-Ms',
  'Idempotency-Key',
  'Last-Event-ID',
  'Prefer',
  'X-Request-Id',
  'X-Service-OrgId',
  'X-Zitadel-OrgId',
].join(', ');
const RESPONSE_HEADERS = [
  'Allow',
  'Content-Disposition',
  'Location',
  'Preference-Applied',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ');
/** Seconds for which a browser keeps the answer to a preflight request; browsers allow two hours at most. */
const MAX_AGE_S = '3600';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * A year, which OWASP ASVS 5 (3.4.1) requires with the subdomains: a browser that has seen it once never sends a
 * password or a cookie unencrypted. No `preload`: browsers ship that list, which cannot be undone for months, and it
 * covers the whole registered domain, which is not ours to decide about.
 */
const STRICT_TRANSPORT = 'max-age=31536000; includeSubDomains';

/**
 * For a response that a browser opens by itself: it is what its type says, loads and runs nothing, is in no frame, and
 * tells its address to nobody. Pages and documentation replace the policy with their own.
 */
export const INERT = {
  'Content-Security-Policy': "default-src 'none'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  // Responses contain tokens and personal data.
  'Cache-Control': 'no-store',
} as const;

export interface CorsDeps {
  /** The mounted routes. */
  routes: () => unknown;
  /** Whether pages of this origin may call. */
  isKnown: (origin: string) => Promise<boolean>;
}

/**
 * Decides which web pages may call the service, and read its responses. Mount it before everything that may respond, so
 * that pages can read errors too.
 *
 * Guarantee: no page gets more than a program with the same token, as credentials mode is off: browsers send no cookies
 * with such requests. Preflight requests are answered before authentication, as they never carry a token.
 */
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

/**
 * Refuses forms, and other requests that change something, that another site sends on behalf of its visitors
 * (cross-site request forgery).
 *
 * Guarantee: every browser says where a form comes from, in `Sec-Fetch-Site` or at least in `Origin` (Fetch standard),
 * very old ones in `Referer`. A form from elsewhere, including a sibling domain, is refused unread. A program that is
 * not a browser sends none of them, and holds nobody's cookies. The forms of a login also carry a token; the forms
 * behind an email's link carry its code.
 * @param baseUrl the public address
 */
export function sameOrigin(baseUrl: string): RequestHandler {
  const ours = new URL(baseUrl).origin;
  return (req, _res, next) => {
    requireOurs(req, ours);
    next();
  };
}

/** @throws ApiError 403 for a request that may change something and comes from another site */
export function requireOurs(req: Request, ours: string): void {
  if (READS.has(req.method) || isOurs(req, ours)) return;
  throw new ApiError('PERMISSION_DENIED', 'PAGE-ORIGIN', 'The form comes from another site.');
}

function isOurs(req: Request, ours: string): boolean {
  const fromOurs = (origin: string) => origin === ours || origin === `${req.protocol}://${req.get('host')}`;
  const site = req.get('sec-fetch-site');
  const origin = req.get('origin');
  if (site === 'same-origin') return true;
  // `none` is the person, not a page; nobody's page is also what `Origin: null` says.
  if (site === 'none') return origin === undefined || origin === 'null' || fromOurs(origin);
  if (site !== undefined) return false;
  if (origin !== undefined) return fromOurs(origin);
  // Browsers of before 2020 may say it in `Referer` only.
  const referer = req.get('referer');
  return referer === undefined || fromOurs(originOf(referer));
}

/** The origin of a URL; empty if it is not a URL. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : '';
}

/**
 * The headers of every response, whatever it answers.
 * @param baseUrl public address of the service: with `https:` browsers are told to use nothing else
 */
export function headersOfAll({ baseUrl }: { baseUrl?: string } = {}): Record<string, string> {
  const isHttps = baseUrl !== undefined && new URL(baseUrl).protocol === 'https:';
  return { ...INERT, ...(isHttps ? { 'Strict-Transport-Security': STRICT_TRANSPORT } : {}) };
}

/** Sets the headers of every response. Mount it before all routes. */
export function responseHeaders(config: { baseUrl?: string } = {}): RequestHandler {
  const headers = headersOfAll(config);
  return (_req, res, next) => {
    res.set(headers);
    next();
  };
}
