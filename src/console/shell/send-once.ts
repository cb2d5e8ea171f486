/**
 * A form does once what it says, however often it is sent: after Back, by a second click, from a tab that was
 * duplicated.
 *
 * Each form of a page has an id. When it has done its work, the browser keeps a mark of the id and of what was typed; the
 * same form that comes again leads to its page, which says so. A form in which something else was typed is another one.
 * Guarantee: nothing is stored on the server, so nobody can fill it; a browser keeps the marks of its latest forms. A
 * second click waits for the first one in this process; two processes may both take forms that arrive at the same
 * moment, and then the API decides.
 */
import { createHash } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { text } from '../../platform/html/forms.ts';
import { newId } from '../../platform/ids.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { Cookies } from '../session.ts';

/** The name of the field with the id of a form. */
const FIELD = 'formId';
/** A form with `data-repeatable` changes nothing: it gets no id, may be sent again, and leaves no mark of what was typed. */
const FORM = /<form\b(?![^>]*\bdata-repeatable)[^>]*\bmethod="post"[^>]*>/g;
/** Forms that a browser remembers. */
const MOST = 30;
/** In the place of what was just done (`saidOnce`). */
const SENT_BEFORE = 'sent-before';

type ConsoleUrl = (path: string) => string;

/** The same markup, in which each form that changes something has an id. */
export function withFormIds({ markup }: Html): Html {
  return {
    markup: markup.replace(
      FORM,
      (form) => form + html`<input type="hidden" name="${FIELD}" value="${newId()}">`.markup,
    ),
  };
}

/** Whether the page is shown because its form was sent before. */
export function wasSentBefore(res: Response): boolean {
  return res.locals.done === SENT_BEFORE;
}

/** Mount it at `/console`, behind the session and `sayOnce`. */
export function sendOnce(cookies: Cookies, consoleUrl: ConsoleUrl): RequestHandler {
  /** Forms whose work is not done yet: where they lead to; undefined for one that is refused. */
  const underWay = new Map<string, Promise<string | undefined>>();

  return async (req, res, next) => {
    if (req.method !== 'POST' || text(req.body, FIELD) === '') return next();
    const mark = markOf(req);
    const marks = (cookies.read(req, 'console_sent') ?? '').split('.').filter((one) => one !== '');
    const page = pageOf(req, consoleUrl);
    const known = marks.includes(mark) ? page : await underWay.get(mark);
    if (known !== undefined) return res.redirect(303, known);
    const ended = Promise.withResolvers<string | undefined>();
    underWay.set(mark, ended.promise);
    beforeEnd(res, () => {
      const isDone = res.statusCode < 400;
      if (isDone && !res.headersSent) cookies.set(res, 'console_sent', [...marks, mark].slice(-MOST).join('.'));
      underWay.delete(mark);
      ended.resolve(isDone ? (res.get('location') ?? page) : undefined);
    });
    next();
  };
}

/** Of the form and of all that was typed into it. */
function markOf(req: Request): string {
  const typed = JSON.stringify([req.originalUrl, req.body]);
  return createHash('sha256').update(typed).digest('base64url').slice(0, 16);
}

/** The page of the form, which shows how things are now. */
function pageOf(req: Request, consoleUrl: ConsoleUrl): string {
  const { searchParams } = new URL(req.originalUrl, 'http://localhost');
  searchParams.set('done', SENT_BEFORE);
  return consoleUrl(`${req.path}?${searchParams}`);
}

/** Runs `then` when the answer is complete, also for a browser that has gone: a second click ends the first request. */
function beforeEnd(res: Response, then: () => void): void {
  const { end } = res;
  res.end = ((...args: Parameters<typeof end>) => {
    then();
    return end.apply(res, args);
  }) as typeof end;
}
