/**
 * What a page says about a request: an error page, why a form was refused, what was just done.
 *
 * Guarantee: only the public text of an error is shown (`publicError`). A form that comes after the session has ended
 * keeps its input.
 */
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { ApiError } from '../../platform/errors.ts';
import { errorHandler, ofStatus } from '../../platform/html/errors.ts';
import { requestIdOf } from '../../platform/http/requests.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { Cookies, KeptForms } from '../session.ts';
import { ERRORS } from '../texts/frame.ts';
import { problemText } from '../texts/problems.ts';
import { clockTime, duration, messageBody } from './blocks.ts';
import type { ConsoleUrl, Show } from './show.ts';

export interface ErrorPageDeps {
  consoleUrl: ConsoleUrl;
  /** The public address, at which sign-ins begin. */
  baseUrl: string;
  show: Show;
  keptForms: KeptForms;
  logger: Logger;
}

/** Mount it at `/console`, after all its routes. */
export function consoleErrors(deps: ErrorPageDeps): ErrorRequestHandler {
  return errorHandler(deps.logger, 'console page failed', (shown, req, res) => {
    if (!wantsPage(req)) return void res.status(shown.http).json(shown.toBody());
    if (shown.http === 401) askToSignIn(deps, req, res);
    else showProblem(deps, req, res, shown);
  });
}

/** A browser asks for a page when it opens an address or sends a form. Scripts and event streams get JSON. */
export function wantsPage(req: Request): boolean {
  return req.accepts(['json', 'text/event-stream', 'html']) === 'html';
}

function askToSignIn({ baseUrl, show, keptForms }: ErrorPageDeps, req: Request, res: Response): void {
  const to = encodeURIComponent(req.originalUrl);
  const link = { href: `${baseUrl}/console/sign-in?to=${to}`, text: ERRORS.signIn };
  const isForm = req.method !== 'GET' && req.method !== 'HEAD';
  const more = isForm ? html`<p>${keptForms.keep(req, res) ? ERRORS.inputKept : ERRORS.inputLost}</p>` : undefined;
  show(req, res, { title: ERRORS[401].heading, status: 401, body: messageBody({ ...ERRORS[401], more, link }) });
}

function showProblem({ consoleUrl, show }: ErrorPageDeps, req: Request, res: Response, error: ApiError): void {
  const { heading, message } = ofStatus<{ heading: string; message: string }>(ERRORS, error.http);
  // What to correct is in the API's own words.
  const own = error.http === 400 || error.http === 409 || error.http === 429 ? error.message : undefined;
  const more = html`${own && html`<p>${error.id === 'PAGE-ORIGIN' ? ERRORS.form : own}</p>`}
${retryTime(error.retryAfterS)}<p class="soft">${ERRORS.reference}: <code>${requestIdOf(res)}</code></p>`;
  const again = error.http === 429 || error.http === 503;
  const link = again
    ? { href: consoleUrl(req.originalUrl.slice('/console'.length)), text: ERRORS.retry }
    : { href: consoleUrl(''), text: ERRORS.back };
  show(req, res, { title: heading, status: error.http, body: messageBody({ heading, message, more, link }) });
}

/** When to try again: the time stays true while the page is open. */
function retryTime(seconds: number | undefined): Html | undefined {
  if (seconds === undefined) return undefined;
  const at = new Date(Date.now() + seconds * 1000).toISOString();
  return html`<p>${ERRORS.retryIn(duration(seconds * 1000))} ${clockTime(at)}.</p>\n`;
}

/** Why the API refused a form, for the form to show beside its fields. */
export interface Refusal {
  status: number;
  /** For the notice above the form; undefined if fields say it. */
  message: string | undefined;
  /** What is wrong with a field of the API, or with one inside it. */
  wrong(field: string): string | undefined;
}

/** What the person can correct; they get other errors as a page. */
const CORRECTABLE: readonly number[] = [400, 404, 409];

/**
 * @param shown the fields of the API that the form has; the message names what is wrong with others
 * @throws the error, if the person cannot correct it in the form
 */
export function refusalOf(error: unknown, shown: readonly string[] = []): Refusal {
  if (!(error instanceof ApiError) || !CORRECTABLE.includes(error.http)) throw error;
  const wrong = (field: string) => {
    const found = error.violations.find((one) => isWithin(one.field, field));
    return found && problemText(found.description);
  };
  const isShown =
    error.violations.length > 0 && error.violations.every((one) => shown.some((f) => isWithin(one.field, f)));
  return { status: error.http, message: isShown ? undefined : problemText(error.message), wrong };
}

function isWithin(path: string, field: string): boolean {
  return path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
}

const KEPT_S = 60;

/**
 * Says once what was just done: a form leads to `?done=…`, which leads to the address without it, so a reload or a
 * bookmark does not say it again. The word travels in a cookie of a minute, and only the page that it belongs to takes
 * it. Mount it at `/console`, behind the session.
 */
export function sayOnce(cookies: Cookies, consoleUrl: ConsoleUrl): RequestHandler {
  return (req, res, next) => {
    if (req.method !== 'GET') return next();
    const { done } = req.query;
    if (typeof done === 'string') {
      cookies.set(res, 'console_done', `${req.path} ${done}`, KEPT_S);
      return res.redirect(303, consoleUrl(req.path.replace(/^\/$/, '') + withoutDone(req)));
    }
    const [path, word] = (cookies.read(req, 'console_done') ?? '').split(' ');
    if (path === req.path && word !== undefined) {
      cookies.clear(res, 'console_done');
      res.locals.done = word;
    }
    next();
  };
}

function withoutDone(req: Request): string {
  const { searchParams } = new URL(req.originalUrl, 'http://localhost');
  searchParams.delete('done');
  return searchParams.size > 0 ? `?${searchParams}` : '';
}

/** The word of `?done=…`, on the first page after it; otherwise empty. */
export function saidOnce(res: Response): string {
  return (res.locals.done as string | undefined) ?? '';
}
