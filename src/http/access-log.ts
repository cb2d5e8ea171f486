/**
 * One log line per request, written when the response is sent or the caller has disconnected.
 * Guarantee: the caller is named by user id and client id, once authenticated, a refusal by its error id. Headers, bodies and query strings are
 * never logged, as they can contain tokens, passwords, codes and names that somebody typed.
 */
import type { Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { requestContextOf } from './request-id.ts';

const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Logs method, path, status, milliseconds and caller; mount it after the request's context. Frequent requests of machines (`PROBES`) are logged at level debug. */
export function accessLog(logger: Logger): RequestHandler {
  return (req, res, next) => {
    const started = performance.now();
    res.on('close', () => {
      const path = pathOf(req);
      const { requestId, userId, clientId } = requestContextOf(res);
      const level = isProbe(req) ? 'debug' : 'info';
      logger[level](
        {
          requestId,
          method: req.method,
          path,
          status: res.statusCode,
          ms: Math.round(performance.now() - started),
          ...(userId === undefined ? {} : { userId }),
          ...(clientId === undefined ? {} : { clientId }),
          ...(res.locals.errorId === undefined ? {} : { errorId: res.locals.errorId }),
          ...res.locals.traceIds,
          ...(res.writableFinished ? {} : { aborted: true }),
        },
        'request',
      );
    });
    next();
  };
}

/** Whether it is a frequent request of a machine. */
export function isProbe(req: Request): boolean {
  return PROBES.has(pathOf(req));
}

/** The original path of a request, without its query. */
export function pathOf(req: Request): string {
  return req.originalUrl.split('?', 1)[0] as string;
}
