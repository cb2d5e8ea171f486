/**
 * What was just done, said once: a form leads to `?done=…`, which leads to the same address without it. So a reload or a
 * bookmark does not say it again. The word travels in a cookie of a minute, and only the page that it belongs to takes it.
 */
import type { Request, RequestHandler, Response } from 'express';
import type { Cookies } from '../sign-in/cookies.ts';
import type { At } from './at.ts';

const KEPT_S = 60;

/** Mount it at `/console`, behind the session. */
export function sayOnce(cookies: Cookies, at: At): RequestHandler {
  return (req, res, next) => {
    if (req.method !== 'GET') return next();
    const { done } = req.query;
    if (typeof done === 'string') {
      cookies.set(res, 'console_done', `${req.path} ${done}`, KEPT_S);
      return res.redirect(303, at(req.path.replace(/^\/$/, '') + withoutDone(req)));
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
