/**
 * Every request has an id, a context and a line in the log.
 *
 * The response has the id as `x-request-id`, and every log line names it. A short and plain id from the caller is kept,
 * so that you can follow one id through several services. Everything that the request starts runs in its context
 * (`src/platform/request-context.ts`).
 *
 * Guarantee: the log names the caller by user id and client id, once authenticated, and a refusal by its error id.
 * Headers, bodies and query strings are never logged, as they can contain tokens, passwords, codes and names that
 * somebody typed.
 */
import type { ServerResponse } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { newId } from '../ids.ts';
import { inRequestContext, type RequestContext, USER_AGENT_CHARS } from '../request-context.ts';
import { plainAddress } from '../text/names.ts';

const SANE = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** Frequent requests of machines. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Sets `res.locals.requestId`, the header and the context. Mount it first. */
export function requestId(): RequestHandler {
  return (req, res, next) => {
    const given = req.get('x-request-id');
    const id = given && SANE.test(given) ? given : newId();
    res.locals.requestId = id;
    res.set('x-request-id', id);
    res.locals.context = contextFor(req, id);
    inRequestContext(res.locals.context, next);
  };
}

/** The id of this request, set by the middleware. */
export function requestIdOf(res: Response): string {
  return res.locals.requestId as string;
}

/** The context of this request. */
export function requestContextOf(res: Response): RequestContext {
  return res.locals.context as RequestContext;
}

function contextFor(req: Request, requestId: string): RequestContext {
  return {
    requestId,
    address: plainAddress(req.ip),
    userAgent: req.get('user-agent')?.slice(0, USER_AGENT_CHARS),
    wishes: { browser: req.get('accept-language')?.slice(0, 500) },
  };
}

/**
 * Logs method, path, status, milliseconds and caller when the response is sent or the caller has disconnected; mount it
 * after the request's context. Frequent requests of machines (`PROBES`) are logged at level debug, faults (5xx) as
 * warnings.
 */
export function accessLog(logger: Logger): RequestHandler {
  return (req, res, next) => {
    const started = performance.now();
    res.on('close', () => {
      const path = pathOf(req);
      const { requestId, userId, clientId } = requestContextOf(res);
      const status = statusOf(res);
      logger[levelOf(req, status)](
        {
          requestId,
          method: req.method,
          path,
          status,
          ms: Math.round(performance.now() - started),
          ...(userId === undefined ? {} : { userId }),
          ...(clientId === undefined ? {} : { clientId }),
          ...(res.locals.errorId === undefined ? {} : { errorId: res.locals.errorId }),
          ...res.locals.traceIds,
          ...(res.writableFinished || wasCut(res) ? {} : { aborted: true }),
          ...(wasCut(res) ? { cut: true } : {}),
        },
        'request',
      );
    });
    next();
  };
}

/** A fault of ours must be seen where only warnings are kept: during an outage it is the 503s that count. */
function levelOf(req: Request, status: number): 'debug' | 'info' | 'warn' {
  if (isProbe(req)) return 'debug';
  return status >= 500 ? 'warn' : 'info';
}

/** What a request fails with that was not finished when its process stopped. */
export class CutRequest extends Error {}

const cut = new WeakSet<ServerResponse>();

/** Call it for a request that is not finished when its process stops. */
export function noteCut(res: ServerResponse): void {
  cut.add(res);
}

export function wasCut(res: ServerResponse): boolean {
  return cut.has(res);
}

/** 499, as proxies log it, for a caller who was gone before anything was sent. */
function statusOf(res: ServerResponse): number {
  if (res.headersSent) return res.statusCode;
  return wasCut(res) ? 503 : 499;
}

/** Whether it is a frequent request of a machine. */
export function isProbe(req: Request): boolean {
  return PROBES.has(pathOf(req));
}

/** The original path of a request, without its query. */
export function pathOf(req: Request): string {
  return req.originalUrl.split('?', 1)[0] as string;
}
