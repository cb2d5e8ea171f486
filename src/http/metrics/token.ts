/** The guard of `/metrics` where METRICS_TOKEN is set. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { ApiError } from '../../errors.ts';

/**
 * Answers 401 unless the request has the bearer token. Takes the same time for every wrong token.
 * @param token undefined: every request passes
 */
export function requireToken(token: string | undefined): RequestHandler {
  const expected = token === undefined ? undefined : digest(`bearer ${token}`);
  return (req, _res, next) => {
    const shown = (req.get('authorization') ?? '').replace(/^bearer +/i, 'bearer ');
    if (!expected || timingSafeEqual(expected, digest(shown))) return next();
    throw new ApiError('UNAUTHENTICATED', 'METRICS-TOKEN', 'Send the value of METRICS_TOKEN as a bearer token.');
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
