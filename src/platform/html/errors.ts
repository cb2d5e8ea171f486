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
import { type MessageKey, say } from '../messages/catalogue.ts';
import { type HtmlPage, problemPage, sendPage } from './layout.ts';

/** Mount it at `/ui`, after all routes. */
export function pageErrors(logger: Logger): ErrorRequestHandler {
  return errorHandler(logger, 'page failed', ({ http }, _req, res) => sendPage(res, http, errorPage(http)));
}

/** What the page of each status says. */
const TEXTS = {
  400: ['error.somethingWentWrong', 'error.unreadableForm'],
  403: ['error.formRefused', 'error.formRefusedWhy'],
  404: ['error.notFound', 'error.notFoundWhy'],
  405: ['error.somethingWentWrong', 'error.cannotBeOpened'],
  429: ['error.tooManyAttempts', 'error.tooManyAttemptsWhy'],
  500: ['error.somethingWentWrong', 'error.onOurSide'],
  503: ['error.unavailable', 'error.unavailableWhy'],
} as const satisfies Record<number, readonly [title: MessageKey, message: MessageKey]>;

/** The statuses that have a page of their own. */
export const STATUSES = Object.keys(TEXTS).map(Number);

/** The page of a status. */
export function errorPage(http: number): HtmlPage {
  const [title, message] = ofStatus<readonly [MessageKey, MessageKey]>(TEXTS, http);
  return problemPage(say(title), say(message));
}

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
