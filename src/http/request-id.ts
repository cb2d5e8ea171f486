/**
 * Gives every request an id; the response has it as `x-request-id`, and every log line names it.
 * Everything that the request starts runs in its context (`src/request-context.ts`).
 * A short and plain id from the caller is kept, so that you can follow one id through several services.
 */
import type { Request, RequestHandler, Response } from 'express';
import { plainAddress } from '../fields/address.ts';
import { newId } from '../ids.ts';
import { inRequestContext, type RequestContext, USER_AGENT_CHARS } from '../request-context.ts';

const SANE = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** Sets `res.locals.requestId`, the header and the context. Mount it first. */
export function requestId(): RequestHandler {
  return (req, res, next) => {
    const given = req.get('x-request-id');
    const id = given && SANE.test(given) ? given : newId();
    res.locals.requestId = id;
    res.set('x-request-id', id);
    res.locals.context = contextFor(req, id);
    inRequestContext(res.locals.context, next);
  };
}

/** The id of this request, set by the middleware. */
export function requestIdOf(res: Response): string {
  return res.locals.requestId as string;
}

/** The context of this request. */
export function requestContextOf(res: Response): RequestContext {
  return res.locals.context as RequestContext;
}

function contextFor(req: Request, requestId: string): RequestContext {
  return {
    requestId,
    address: plainAddress(req.ip),
    userAgent: req.get('user-agent')?.slice(0, USER_AGENT_CHARS),
  };
}
