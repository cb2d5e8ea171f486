/**
 * Gives every request an id, which every answer carries as `x-request-id` and every log line names.
 * A caller's own id is kept when it is short and plain, so that one id can be followed through several services.
 */
import type { RequestHandler, Response } from 'express';
import { newId } from '../ids.ts';

const SANE = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** Sets `res.locals.requestId` and the header. Mount it first. */
export function requestId(): RequestHandler {
  return (req, res, next) => {
    const given = req.get('x-request-id');
    const id = given && SANE.test(given) ? given : newId();
    res.locals.requestId = id;
    res.set('x-request-id', id);
    next();
  };
}

/** The id that the middleware gave this request. */
export function requestIdOf(res: Response): string {
  return res.locals.requestId as string;
}
