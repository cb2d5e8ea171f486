/**
 * `POST` on addresses that browsers are sent to (OpenID Connect Core 1.0 section 3.1.2.1, RP-Initiated Logout 1.0
 * section 2): the form takes the place of the query.
 *
 * Browsers send our cookies with a navigation from another site only if it is a `GET` (`SameSite=Lax`). So such a form
 * is redirected to the same address with its fields in the query: else, a user who is signed in had to sign in again.
 */
import express, { type Request, type RequestHandler } from 'express';
import { ApiError } from '../errors.ts';

/** As a query, it must fit into the head of a request, which Node.js limits to 16 KiB. */
const MAX_BYTES = 12 * 1024;
const FORM = 'application/x-www-form-urlencoded';
/** What programs encode forms as; anything else cannot stand in a query. */
const QUERY = /^[\x21\x22\x24-\x7e]*$/;

/**
 * Reads the form, and gives the request to `answer` as a `GET` with a query.
 * @param baseUrl the public address
 */
export function formAsQuery(answer: RequestHandler, baseUrl: string): RequestHandler[] {
  return [express.text({ type: FORM, limit: MAX_BYTES }), (req, res, next) => pass(answer, baseUrl, req, res, next)];
}

async function pass(
  answer: RequestHandler,
  baseUrl: string,
  ...[req, res, next]: Parameters<RequestHandler>
): Promise<void> {
  const target = `${req.path}?${queryOf(req)}`;
  if (req.get('sec-fetch-site') === 'cross-site') return res.redirect(303, baseUrl + target);
  const { method, url } = req;
  Object.assign(req, { method: 'GET', url: target });
  try {
    await answer(req, res, next);
  } finally {
    Object.assign(req, { method, url }); // for the log and the metrics
  }
}

/** @throws ApiError 400 */
function queryOf(req: Request): string {
  const form: unknown = req.body;
  if (typeof form === 'string' && QUERY.test(form)) return form;
  throw new ApiError('INVALID_ARGUMENT', 'REQUEST-MEDIA-TYPE', `The body must be ${FORM}.`);
}
