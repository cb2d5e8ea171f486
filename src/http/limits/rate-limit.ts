/**
 * Limits each IP address: requests per second, and password and code attempts per minute.
 *
 * Guarantee: only the head of a request is read, unless its handler calls `countTry`. Counts are per address (IPv6: per
 * /56); all callers behind a proxy that TRUST_PROXY does not count share one address. Attempts are counted for all API
 * processes together (attempt-counts.ts). Requests are counted in memory, per process: the limit protects a process
 * from overload, and a write for every request would cost more than most requests.
 * On crash: the counts of requests start at 0.
 */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { rateLimit, type Store } from 'express-rate-limit';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Db } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { pathOf } from '../access-log.ts';
import { sharedCounts } from './attempt-counts.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** These paths return errors in the format of RFC 6749. */
const PROTOCOL = /^\/(?:oauth|oidc)\//i;
const SENTENCE = 'Too many requests from this IP address. Try again later.';

export interface RateLimitDeps {
  pool: Db;
  config: Pick<Config, 'RATE_LIMIT_REQUESTS' | 'RATE_LIMIT_LOGINS'>;
  logger: Logger;
}

/**
 * Mount it after the health routes and before the routes it protects.
 * @param isLogin whether the request tries a secret
 */
export function rateLimits({ pool, config, logger }: RateLimitDeps, isLogin: (req: Request) => boolean): Router {
  const limits = Router();
  if (config.RATE_LIMIT_REQUESTS > 0) limits.use(limiter(config.RATE_LIMIT_REQUESTS, SECOND, logger));
  if (config.RATE_LIMIT_LOGINS > 0) {
    const limit = config.RATE_LIMIT_LOGINS;
    const logins = limiter(limit, MINUTE, logger, sharedCounts(pool, limit));
    limits.use((req, res, next) => {
      res.locals.loginLimit = logins;
      if (isLogin(req)) logins(req, res, next);
      else next();
    });
  }
  return limits;
}

/**
 * Counts a request as an attempt, for a handler that can tell only from the body that it is one.
 * @throws ApiError 429
 */
export async function countTry(req: Request, res: Response): Promise<void> {
  const limit = res.locals.loginLimit as RequestHandler | undefined;
  if (!limit) return;
  await new Promise<void>((resolve, reject) => {
    limit(req, res, (error?: unknown) => (error ? reject(error) : resolve()));
  });
}

/** @param store of the counts; default: the memory of this process */
function limiter(limit: number, windowMs: number, logger: Logger, store?: Store): RequestHandler {
  return rateLimit({
    limit,
    windowMs,
    ...(store ? { store } : {}),
    // These headers cost every response and are useless below the limit.
    standardHeaders: false,
    legacyHeaders: false,
    // The address is missing if the connection has closed in the meantime, which is not an error.
    validate: { ip: false },
    handler: (req, res) => refuse(req, res, windowMs),
    // Hints about a proxy that TRUST_PROXY does not count; each is logged once.
    logger: { error: (err) => logger.warn({ err }, 'rate limit'), warn: (err) => logger.warn({ err }, 'rate limit') },
  });
}

/** @throws ApiError 429, except on paths that return errors in the format of RFC 6749 */
function refuse(req: Request, res: Response, windowMs: number): void {
  const { resetTime } = (req as Request & { rateLimit?: { resetTime?: Date } }).rateLimit ?? {};
  const ms = resetTime ? resetTime.getTime() - Date.now() : windowMs;
  res.set('Retry-After', String(Math.max(1, Math.ceil(ms / SECOND))));
  if (!PROTOCOL.test(pathOf(req))) throw new ApiError('RESOURCE_EXHAUSTED', 'RATE-LIMIT', SENTENCE);
  res.locals.errorId = 'RATE-LIMIT';
  res.status(429).json({ error: 'temporarily_unavailable', error_description: SENTENCE });
}
