/** The headers of every response, whatever it answers. Mount `responseHeaders` before all routes. */
import type { RequestHandler } from 'express';

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

/** @param baseUrl public address of the service: with `https:` browsers are told to use nothing else */
export function headersOfAll({ baseUrl }: { baseUrl?: string } = {}): Record<string, string> {
  const isHttps = baseUrl !== undefined && new URL(baseUrl).protocol === 'https:';
  return { ...INERT, ...(isHttps ? { 'Strict-Transport-Security': STRICT_TRANSPORT } : {}) };
}

export function responseHeaders(config: { baseUrl?: string } = {}): RequestHandler {
  const headers = headersOfAll(config);
  return (_req, res, next) => {
    res.set(headers);
    next();
  };
}
