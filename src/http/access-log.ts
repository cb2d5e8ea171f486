/**
 * One log line per request, written when the response is sent or the caller has disconnected.
 * Guarantee: headers, bodies and query strings are never logged, as they can contain tokens, passwords and codes.
 */
import type { Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { requestIdOf } from './request-id.ts';

const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Logs method, path, status and milliseconds. Frequent requests of machines (`PROBES`) are logged at level debug. */
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

/** The original path of a request, without its query. */
export function pathOf(req: Request): string {
  return req.originalUrl.split('?', 1)[0] as string;
}
