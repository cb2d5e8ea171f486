/**
 * Limits each IP address: requests per second, and password and code attempts per minute.
 *
 * Guarantee: only the head of a request is read, unless its handler calls `countTry`. Counts are kept in memory, per
 * process and address (IPv6: per /56). All callers behind a proxy that TRUST_PROXY does not count share one address.
 * On crash: the counts start at 0.
 */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { rateLimit } from 'express-rate-limit';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { ApiError } from '../errors.ts';
import { pathOf } from './access-log.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** These paths return errors in the format of RFC 6749. */
const PROTOCOL = /^\/(?:oauth|oidc)\//i;
const SENTENCE = 'Too many requests from this IP address. Try again later.';

export interface RateLimitDeps {
  config: Pick<Config, 'RATE_LIMIT_REQUESTS' | 'RATE_LIMIT_LOGINS'>;
  logger: Logger;
}

/**
 * Mount it after the health routes and before the routes it protects.
 * @param isLogin whether the request tries a secret
 */
export function rateLimits({ config, logger }: RateLimitDeps, isLogin: (req: Request) => boolean): Router {
  const limits = Router();
  if (config.RATE_LIMIT_REQUESTS > 0) limits.use(limiter(config.RATE_LIMIT_REQUESTS, SECOND, logger));
  if (config.RATE_LIMIT_LOGINS > 0) {
    const logins = limiter(config.RATE_LIMIT_LOGINS, MINUTE, logger);
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

function limiter(limit: number, windowMs: number, logger: Logger): RequestHandler {
  return rateLimit({
    limit,
    windowMs,
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
