/**
 * Bounds what one address may ask for: requests a second, and tries of passwords and codes a minute.
 *
 * Guarantee: nothing of a request but its head is looked at, unless its handler calls `countTry`. Counts are kept in memory, by process and address (an IPv6
 * one by its /56); behind proxies that TRUST_PROXY does not count, all their callers are one address.
 * If we die here the counts start anew.
 */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { rateLimit } from 'express-rate-limit';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { ApiError } from '../errors.ts';
import { pathOf } from './access-log.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** These answer errors as RFC 6749 says. */
const PROTOCOL = /^\/(?:oauth|oidc)\//i;
const SENTENCE = 'Too many requests from this address; try again later.';

export interface RateLimitDeps {
  config: Pick<Config, 'RATE_LIMIT_REQUESTS' | 'RATE_LIMIT_LOGINS'>;
  logger: Logger;
}

/** Mount it before what it guards and after what probes ask for. @param isLogin whether the request tries a secret */
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
 * Counts a request among the tries after all, for a handler that learns from the body only that it is one.
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
    // They cost every answer and tell nobody anything who keeps below the limit.
    standardHeaders: false,
    legacyHeaders: false,
    // An address is missing when the connection broke meanwhile, which is no fault.
    validate: { ip: false },
    handler: (req, res) => refuse(req, res, windowMs),
    // Hints about a proxy that TRUST_PROXY does not know; each comes once.
    logger: { error: (err) => logger.warn({ err }, 'rate limit'), warn: (err) => logger.warn({ err }, 'rate limit') },
  });
}

/** @throws ApiError 429, where no other form of answer is due */
function refuse(req: Request, res: Response, windowMs: number): void {
  const { resetTime } = (req as Request & { rateLimit?: { resetTime?: Date } }).rateLimit ?? {};
  const ms = resetTime ? resetTime.getTime() - Date.now() : windowMs;
  res.set('Retry-After', String(Math.max(1, Math.ceil(ms / SECOND))));
  if (!PROTOCOL.test(pathOf(req))) throw new ApiError('RESOURCE_EXHAUSTED', 'RATE-LIMIT', SENTENCE);
  res.status(429).json({ error: 'temporarily_unavailable', error_description: SENTENCE });
}
