import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { levelOf, publicError } from '../http/errors.ts';
import { requestIdOf } from '../http/requests.ts';
import { loggable } from '../logger.ts';
import { type Page, problemPage, sendPage } from './layout.ts';

/**
 * Error pages for people, for any request under `/ui` that fails.
 *
 * Guarantee: the text is fixed and depends only on the status; nothing else of the error is shown. Server errors are
 * logged.
 */

/** By status. Any other status below 500 gets the page for 400; all others get the page for 500. */
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

/** Mount it at `/ui`, after all routes. */
export function pageErrors(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    const { http, id, retryAfterS } = publicError(error);
    res.locals.errorId = id;
    if (http >= 500) logger[levelOf(http)]({ requestId: requestIdOf(res), err: loggable(error) }, 'page failed');
    if (res.headersSent) return next(error);
    if (retryAfterS !== undefined) res.set('Retry-After', String(retryAfterS));
    const known: Partial<Record<number, Page>> = PAGES;
    sendPage(res, http, known[http] ?? (http < 500 ? PAGES[400] : PAGES[500]));
  };
}
