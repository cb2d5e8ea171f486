/**
 * `OPTIONS` with the methods of a path in all routers. By default in Express, the first router that knows the path
 * responds, with its own methods only.
 */
import type { RequestHandler } from 'express';
import { pathOf } from './access-log.ts';
import { allowedMethods } from './allowed-methods.ts';

/** Mount it before the routers, and after those that have their own routes for `OPTIONS`. */
export function answerOptions(routes: () => unknown): RequestHandler {
  return (req, res, next) => {
    const allowed = req.method === 'OPTIONS' ? allowedMethods(routes(), pathOf(req)) : [];
    if (allowed.length === 0) return next();
    res.set('Allow', allowed.join(', ')).status(204).end();
  };
}
