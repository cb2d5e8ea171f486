/**
 * Error pages of the console.
 *
 * Guarantee: they show the public text of an error only (`publicError`). A form that comes after the session has ended
 * keeps its input.
 */
import type { ErrorRequestHandler, Request, Response } from 'express';
import type { Logger } from 'pino';
import type { ApiError } from '../../errors.ts';
import { type Html, html } from '../../html.ts';
import { levelOf, publicError } from '../../http/errors.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { loggable } from '../../logger.ts';
import type { KeptForms } from '../sign-in/kept-form.ts';
import { ERRORS } from '../texts/frame.ts';
import type { At } from './at.ts';
import { clock, duration } from './format.ts';
import { messageBody } from './parts.ts';
import type { Show } from './show.ts';

export interface ErrorPageDeps {
  at: At;
  /** The public address, at which sign-ins begin. */
  baseUrl: string;
  show: Show;
  keptForms: KeptForms;
  logger: Logger;
}

/** Mount it at `/console`, after all its routes. */
export function consoleErrors(deps: ErrorPageDeps): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    const shown = publicError(error);
    res.locals.errorId = shown.id;
    if (shown.http >= 500) {
      const line = { requestId: requestIdOf(res), err: loggable(error) };
      deps.logger[levelOf(shown.http)](line, 'console page failed');
    }
    if (res.headersSent) return next(error);
    if (shown.retryAfterS !== undefined) res.set('Retry-After', String(shown.retryAfterS));
    if (!wantsPage(req)) return void res.status(shown.http).json(shown.toBody());
    if (shown.http === 401) askToSignIn(deps, req, res);
    else showProblem(deps, req, res, shown);
  };
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

function showProblem({ at, show }: ErrorPageDeps, req: Request, res: Response, error: ApiError): void {
  const known: Partial<Record<number, { heading: string; message: string }>> = ERRORS as object;
  const { heading, message } = known[error.http] ?? (error.http < 500 ? ERRORS[400] : ERRORS[500]);
  // What to correct is in the API's own words.
  const own = error.http === 400 || error.http === 409 || error.http === 429 ? error.message : undefined;
  const more = html`${own && html`<p>${error.id === 'PAGE-ORIGIN' ? ERRORS.form : own}</p>`}
${retryTime(error.retryAfterS)}<p class="soft">${ERRORS.reference}: <code>${requestIdOf(res)}</code></p>`;
  const again = error.http === 429 || error.http === 503;
  const link = again
    ? { href: at(req.originalUrl.slice('/console'.length)), text: ERRORS.retry }
    : { href: at(''), text: ERRORS.back };
  show(req, res, { title: heading, status: error.http, body: messageBody({ heading, message, more, link }) });
}

/** When to try again: the time stays true while the page is open. */
function retryTime(seconds: number | undefined): Html | undefined {
  if (seconds === undefined) return undefined;
  const at = new Date(Date.now() + seconds * 1000).toISOString();
  return html`<p>${ERRORS.retryIn(duration(seconds * 1000))} <time datetime="${at}">${clock(at)} UTC</time>.</p>\n`;
}
