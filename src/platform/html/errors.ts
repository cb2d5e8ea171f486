/**
 * Error pages for people: what every one of them does, and those of all requests under `/ui`.
 *
 * Guarantee: the text of a page under `/ui` is fixed and depends only on the status; nothing else of the error is
 * shown. Server errors are logged.
 */
import type { ErrorRequestHandler, Request, Response } from 'express';
import type { Logger } from 'pino';
import type { ApiError } from '../errors.ts';
import { levelOf, publicError } from '../http/errors.ts';
import { requestIdOf } from '../http/requests.ts';
import { loggable } from '../logger.ts';
import { problemPage, sendPage } from './layout.ts';

/** Mount it at `/ui`, after all routes. */
export function pageErrors(logger: Logger): ErrorRequestHandler {
  return errorHandler(logger, 'page failed', ({ http }, _req, res) => sendPage(res, http, ofStatus(PAGES, http)));
}

/** The page of each status. */
export const PAGES = {
  400: problemPage('Something went wrong', 'The form could not be read. Please go back and try again.'),
  403: problemPage(
    'This form was not accepted',
    'It did not come from the page that you see, or it is too old. Please go back, reload the page and try again.',
  ),
  404: problemPage('Page not found', 'Please check the address, or go back to where you came from.'),
  405: problemPage('Something went wrong', 'The page cannot be opened this way. Please go back and try again.'),
  429: problemPage(
    'Too many attempts',
    'There have been too many attempts from your network. Please wait a minute, then go back and try again.',
  ),
  500: problemPage('Something went wrong', 'This is an error on our side. Please try again later.'),
  503: problemPage('Please try again later', 'The service is not available right now. Your data is safe.'),
};

/**
 * Answers a request that failed: logs errors of the server, and says when to try again.
 * @param logged the message in the log
 * @param show answers with what the caller may see of the error
 */
export function errorHandler(
  logger: Logger,
  logged: string,
  show: (error: ApiError, req: Request, res: Response) => void,
): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    const shown = publicError(error);
    res.locals.errorId = shown.id;
    if (shown.http >= 500) {
      logger[levelOf(shown.http)]({ requestId: requestIdOf(res), err: loggable(error) }, logged);
    }
    if (res.headersSent) return next(error);
    if (shown.retryAfterS !== undefined) res.set('Retry-After', String(shown.retryAfterS));
    show(shown, req, res);
  };
}

/** What is said about a status; another one below 500 counts as 400, all others as 500. */
export function ofStatus<T>(known: Readonly<Record<400 | 500, T> & Partial<Record<number, T>>>, http: number): T {
  return known[http] ?? known[http < 500 ? 400 : 500];
}
