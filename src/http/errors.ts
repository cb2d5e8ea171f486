/**
 * The one place where an error becomes an answer.
 *
 * Guarantee: only the text of an ApiError reaches a caller; anything else reads as a fixed sentence and goes to the log
 * with the request's id. No row content is logged: a PostgreSQL error's `detail` can hold one.
 */
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { ApiError } from '../errors.ts';
import { pathOf } from './access-log.ts';
import { allowedMethods } from './allowed-methods.ts';
import { bodyError } from './body-error.ts';
import { requestIdOf } from './request-id.ts';
import { isUnavailable } from './unavailable.ts';

/** Answers what no route took: 405 with `Allow` on a known path, else 404. Mount it after all routes. */
export function noSuchOperation(routes: () => unknown): RequestHandler {
  return (req, res) => {
    const allowed = allowedMethods(routes(), pathOf(req));
    if (allowed.length === 0) throw new ApiError('NOT_FOUND', 'REQUEST-PATH', 'There is no such path.');
    res.set('Allow', allowed.join(', '));
    throw new ApiError('UNIMPLEMENTED', 'REQUEST-METHOD', 'The path does not take this method.', { http: 405 });
  };
}

/** Renders every error; mount it last. */
export function renderErrors(logger: Logger): ErrorRequestHandler {
  return (error: unknown, req, res, _next) => {
    const shown = publicError(error);
    if (shown.http >= 500) {
      const line = { requestId: requestIdOf(res), method: req.method, path: pathOf(req), err: loggable(error) };
      logger.error(line, 'request failed');
    }
    // Half an answer is out: only cutting the connection tells the caller that it is not whole.
    if (res.headersSent) res.destroy();
    else sendError(res, shown);
  };
}

function sendError(res: Response, error: ApiError): void {
  if (error.http === 401) res.set('WWW-Authenticate', 'Bearer');
  if (error.http === 503) res.set('Retry-After', '1');
  res.status(error.http).json(error.toBody());
}

/** What of `error` may be told to a caller. */
export function publicError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const ofBody = bodyError(error ?? {});
  if (ofBody) return ofBody;
  if (isUnavailable(error)) {
    return new ApiError('UNAVAILABLE', 'SERVICE-UNAVAILABLE', 'The service is not available right now; try again.');
  }
  // Express itself throws these, for a path with a broken percent-encoding.
  if (error instanceof URIError)
    return new ApiError('INVALID_ARGUMENT', 'REQUEST-PATH', 'The path is not well encoded.');
  return new ApiError('INTERNAL', 'INTERNAL', 'An internal error occurred.');
}

/** What of `error` may be logged. */
export function loggable(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: `thrown: ${typeof error}` };
  const { code, constraint, table } = error as Error & { code?: string; constraint?: string; table?: string };
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(code ? { code } : {}),
    ...(constraint ? { constraint } : {}),
    ...(table ? { table } : {}),
    ...(error.cause ? { cause: loggable(error.cause) } : {}),
  };
}
