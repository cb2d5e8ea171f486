/**
 * The one place where an error becomes a response.
 *
 * Guarantee: a caller sees the text of an ApiError only. For any other error they get a fixed sentence, and the error
 * goes to the log with the request's id. Texts of Express's body parsers are not used, as they may quote the body. Row
 * contents are never logged: a PostgreSQL error's `detail` can contain them. A store that is unavailable fails every
 * request: the log names it once in some seconds (src/platform/logger.ts), and the access log has each request.
 */
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { isStoreFault } from '../db/faults.ts';
import { ApiError } from '../errors.ts';
import { loggable } from '../logger.ts';
import { allowedMethods, methodsOfConcrete } from './methods.ts';
import { CutRequest, pathOf, requestIdOf } from './requests.ts';

/** Renders every error; mount it last. */
export function renderErrors(logger: Logger): ErrorRequestHandler {
  return (error: unknown, req, res, _next) => {
    const shown = publicError(error);
    res.locals.errorId = shown.id;
    if (shown.http >= 500) {
      const line = { requestId: requestIdOf(res), method: req.method, path: pathOf(req), err: loggable(error) };
      logger[levelOf(shown.http)](line, 'request failed');
    }
    // Part of the response is sent: only a closed connection tells the caller that it is incomplete.
    if (res.headersSent) res.destroy();
    else sendError(res, shown);
  };
}

/** The part of `error` that a caller may see. */
export function publicError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof CutRequest) {
    return new ApiError('UNAVAILABLE', 'SERVICE-UNAVAILABLE', 'The service was stopped. Try again.');
  }
  const ofBody = bodyError(error ?? {});
  if (ofBody) return ofBody;
  if (isStoreFault(error)) {
    return new ApiError('UNAVAILABLE', 'SERVICE-UNAVAILABLE', 'The service is temporarily unavailable. Try again.');
  }
  // Express throws these for a path with an invalid percent-encoding.
  if (error instanceof URIError)
    return new ApiError('INVALID_ARGUMENT', 'REQUEST-PATH', 'The path must use valid percent-encoding.');
  return new ApiError('INTERNAL', 'INTERNAL', 'An internal error occurred.');
}

function sendError(res: Response, error: ApiError): void {
  if (error.http === 401) res.set('WWW-Authenticate', error.challenge ?? 'Bearer');
  if (error.retryAfterS !== undefined) res.set('Retry-After', String(error.retryAfterS));
  const form = res.locals.errorForm as ((error: ApiError) => unknown) | undefined;
  res.status(error.http).json(form ? form(error) : error.toBody());
}

/** Repeated warnings are grouped; errors have a line each. */
export function levelOf(http: number): 'warn' | 'error' {
  return http === 503 ? 'warn' : 'error';
}

/** Answers requests that match no route: 405 with `Allow` on a known path, else 404. Mount it after all routes. */
export function noSuchOperation(routes: () => unknown): RequestHandler {
  return (req, res) => {
    const allowed = allowedMethods(routes(), pathOf(req));
    if (allowed.length === 0) throw new ApiError('NOT_FOUND', 'REQUEST-PATH', 'This path does not exist.');
    throw wrongMethod(res, allowed);
  };
}

/** 405 for a wrong method on a path without parameters, which a route with parameters would take. Mount it before. */
export function concretePathsFirst(routes: () => unknown): RequestHandler {
  return (req, res, next) => {
    const allowed = methodsOfConcrete(routes(), req.path);
    if (allowed && !allowed.includes(req.method)) throw wrongMethod(res, allowed);
    next();
  };
}

function wrongMethod(res: Response, allowed: string[]): ApiError {
  res.set('Allow', allowed.join(', '));
  const message = `This path supports only the methods ${allowed.join(', ')}.`;
  return new ApiError('UNIMPLEMENTED', 'REQUEST-METHOD', message, { http: 405 });
}

const goneSignals = new WeakMap<Response, AbortSignal>();

/**
 * Aborted when the connection is closed before the response is complete, so that nothing more is computed for it. Each
 * step of a request may ask for it: a response has one signal and one listener.
 */
export function goneSignal(res: Response): AbortSignal {
  const known = goneSignals.get(res);
  if (known) return known;
  const clientAborted = new AbortController();
  goneSignals.set(res, clientAborted.signal);
  res.once('close', () => {
    if (!res.writableFinished)
      clientAborted.abort(new ApiError('ABORTED', 'REQUEST-ABORTED', 'The connection was closed.'));
  });
  return clientAborted.signal;
}

/** The public form of an error of Express's body parsers (http-errors, invalid gzip too); undefined for any other. */
export function bodyError(error: unknown): ApiError | undefined {
  const { type, status, expose, limit } = error as Record<'type' | 'status' | 'expose' | 'limit', unknown>;
  if (expose !== true || typeof status !== 'number' || status >= 500) return undefined;
  if (type === 'entity.too.large') return tooLarge(limit, error);
  if (type === 'encoding.unsupported') return wrongEncoding(error);
  if (type === 'charset.unsupported') return wrongMediaType(error);
  if (type === 'entity.parse.failed') {
    return new ApiError('INVALID_ARGUMENT', 'REQUEST-JSON', 'The body is not valid JSON.', { cause: error });
  }
  const message = 'The body could not be read: it is incomplete, or its compression is invalid.';
  return new ApiError('INVALID_ARGUMENT', 'REQUEST-BODY', message, { cause: error });
}

/** 413 */
function tooLarge(limit: unknown, cause: unknown): ApiError {
  const message = typeof limit === 'number' ? `The body must be at most ${limit} bytes.` : 'The body is too large.';
  return new ApiError('RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE', message, { http: 413, cause });
}

/** 415 */
function wrongEncoding(cause: unknown): ApiError {
  const message = 'Content-Encoding must be absent: only the body of a bulk import may be compressed.';
  return new ApiError('INVALID_ARGUMENT', 'REQUEST-ENCODING', message, { http: 415, cause });
}

/** 415 */
export function wrongMediaType(cause?: unknown): ApiError {
  const message = 'Content-Type must be application/json in UTF-8.';
  return new ApiError('INVALID_ARGUMENT', 'REQUEST-MEDIA-TYPE', message, { http: 415, cause });
}
