/** The context of each request (`src/request-context.ts`): its id, its IP address and its user agent. */
import { isIP } from 'node:net';
import type { Request, Response } from 'express';
import { type RequestContext, USER_AGENT_CHARS } from '../request-context.ts';

/** The context of a request with this id. */
export function contextFor(req: Request, requestId: string): RequestContext {
  return {
    requestId,
    address: plainAddress(req.ip),
    userAgent: req.get('user-agent')?.slice(0, USER_AGENT_CHARS),
  };
}

/** The context of this request. */
export function requestContextOf(res: Response): RequestContext {
  return res.locals.context as RequestContext;
}

/**
 * The address in the form that PostgreSQL stores: IPv4 without the prefix of IPv6, and no zone. Undefined if a trusted
 * proxy sent something else.
 */
export function plainAddress(ip: string | undefined): string | undefined {
  const address = ip?.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return address && isIP(address) ? address : undefined;
}
