/**
 * One log line a request, written when the answer is out or the caller has gone.
 * Guarantee: neither headers nor bodies nor query strings are logged, as tokens, passwords and codes travel there.
 */
import type { Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { requestIdOf } from './request-id.ts';

const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Logs method, path, status and milliseconds. What machines ask for all the time (`PROBES`) only at level debug. */
export function accessLog(logger: Logger): RequestHandler {
  return (req, res, next) => {
    const started = performance.now();
    res.on('close', () => {
      const path = pathOf(req);
      const level = PROBES.has(path) ? 'debug' : 'info';
      logger[level](
        {
          requestId: requestIdOf(res),
          method: req.method,
          path,
          status: res.statusCode,
          ms: Math.round(performance.now() - started),
          ...(res.writableFinished ? {} : { aborted: true }),
        },
        'request',
      );
    });
    next();
  };
}

/** The path of a request as it came, without its query. */
export function pathOf(req: Request): string {
  return req.originalUrl.split('?', 1)[0] as string;
}
