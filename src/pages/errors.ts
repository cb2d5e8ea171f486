/**
 * What went wrong on the way to a page or a form, as a page for people.
 *
 * Guarantee: its words are ours; nothing of the error but its status is shown. What is our own fault goes to the log.
 */
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { loggable, publicError } from '../http/errors.ts';
import { requestIdOf } from '../http/request-id.ts';
import { type Page, sendPage } from './layout.ts';
import { problemPage } from './parts.ts';

/** By status; others are as 400 or 500. */
export const PAGES = {
  400: problemPage('This did not work', 'The form could not be read. Please go back and try again.'),
  403: problemPage(
    'This form was not accepted',
    'It does not come from the page that you see, or it is too old. Please go back, load the page again and try once more.',
  ),
  404: problemPage('There is no such page', 'Please check the address, or go back to where you came from.'),
  405: problemPage('This did not work', 'The page cannot be opened in this way. Please go back and try again.'),
  429: problemPage(
    'Too many tries',
    'There have been too many tries from your network. Please wait a minute, then go back and try again.',
  ),
  500: problemPage('This did not work', 'Something went wrong on our side. Please try again in a while.'),
  503: problemPage('Please try again in a while', 'We cannot answer right now. Nothing of yours is lost.'),
};

/** Mount it at `/ui`, after all routes. */
export function pageErrors(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    const { http } = publicError(error);
    if (http >= 500) logger.error({ requestId: requestIdOf(res), err: loggable(error) }, 'page failed');
    if (res.headersSent) return next(error);
    if (http === 503) res.set('Retry-After', '1');
    const known: Partial<Record<number, Page>> = PAGES;
    sendPage(res, http, known[http] ?? (http < 500 ? PAGES[400] : PAGES[500]));
  };
}
