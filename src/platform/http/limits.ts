/**
 * Limits of what one address and one request may take: requests per second, password and code attempts per minute, and
 * the slowest rate at which a body may arrive.
 *
 * Guarantee: only the head of a request is read, unless its handler calls `countTry`. Counts are per address (IPv6: per
 * /56); all callers behind a proxy that TRUST_PROXY does not count share one address. Attempts are counted for all API
 * processes together (attempt-counts.ts). Requests are counted in memory, per process: the limit protects a process
 * from overload, and a write for every request would cost more than most requests.
 */
import type { IncomingMessage, Server } from 'node:http';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { rateLimit, type Store } from 'express-rate-limit';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Db } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { sharedCounts } from './attempt-counts.ts';
import { pathOf } from './requests.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Paths that return errors in the format of RFC 6749. */
const PROTOCOL = /^\/(?:oauth|oidc)\//i;
const SENTENCE = 'Too many requests from this IP address. Try again later.';

export interface BodyRate {
  /** In each time of this length, in milliseconds … */
  windowMs: number;
  /** … at least this many bytes must arrive. */
  bytes: number;
}

/** 500 bytes a second, the default of Apache's mod_reqtimeout: slower than any modem. */
export const BODY_RATE: BodyRate = { windowMs: 60_000, bytes: 30_000 };
const LOOKS_PER_WINDOW = 12;

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

/** What is read of a request. */
export interface Arriving {
  /** Whether the whole body has arrived. */
  complete: boolean;
  /** Bytes that have arrived and that nobody has read. */
  readableLength: number;
  socket: { bytesRead: number };
}

export interface BodyWatch<T extends Arriving> {
  add(req: T): void;
  remove(req: T): void;
  /** The requests that were too slow; they are watched no longer. @param now in milliseconds, by any clock */
  look(now: number): T[];
}

/**
 * Ends requests whose body arrives too slowly: such a request would hold its place, and so keep out others, for as long
 * as its client likes. They are answered 408 (server.ts), and their connections are closed.
 *
 * Guarantee: only time in which the service waits for the client counts. A body that waits to be read is never too
 * slow.
 */
export function requireBodyRate(server: Server, rate: BodyRate = BODY_RATE): void {
  const watch = openBodyWatch<IncomingMessage>(rate);
  server.prependListener('request', (req: IncomingMessage) => {
    if (!hasBody(req)) return;
    watch.add(req);
    req.once('close', () => watch.remove(req));
  });
  const timer = setInterval(() => {
    for (const { socket } of watch.look(performance.now())) {
      const error = Object.assign(new Error('the body arrives too slowly'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      server.emit('clientError', error, socket);
    }
  }, rate.windowMs / LOOKS_PER_WINDOW).unref();
  server.once('close', () => clearInterval(timer));
}

/** Tells which bodies arrive too slowly, each time that `look` is called. */
export function openBodyWatch<T extends Arriving>({ windowMs, bytes }: BodyRate): BodyWatch<T> {
  const windows = new Map<T, { since: number; from: number } | undefined>();
  return {
    add: (req) => void windows.set(req, undefined),
    remove: (req) => void windows.delete(req),
    look(now) {
      const tooSlow: T[] = [];
      for (const [req, window] of windows) {
        const { bytesRead } = req.socket;
        if (req.complete) windows.delete(req);
        else if (!window || req.readableLength > 0) windows.set(req, { since: now, from: bytesRead });
        else if (now - window.since < windowMs) continue;
        else if (bytesRead - window.from >= bytes) windows.set(req, { since: now, from: bytesRead });
        else tooSlow.push(req);
      }
      for (const req of tooSlow) windows.delete(req);
      return tooSlow;
    },
  };
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
