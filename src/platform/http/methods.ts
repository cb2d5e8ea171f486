/**
 * The methods that a path supports and the pattern of its route, read from the mounted routes, so that there is no
 * second list to maintain.
 *
 * A path with a route of its own, such as `/v2beta/users/human`, has the methods of that route only, although it also
 * matches `/v2beta/users/:userId`: so says OpenAPI of concrete and templated paths. Routers must be mounted at `/`.
 */
import type { RequestHandler, Router } from 'express';
import { pathOf } from './requests.ts';

/** A router as Express stores it: layers that are a route, another router or plain middleware. */
interface Routed {
  stack?: Layer[];
}
interface Layer {
  route?: Route;
  handle: unknown;
  /** As it was mounted. */
  rawPath: unknown;
  /** Mounted at `/`. */
  slash: boolean;
  match(path: string): unknown;
}
interface Route {
  path: unknown;
  methods: Record<string, boolean>;
}

/** The methods of concrete paths, by application; collected at its first request, when all routes are mounted. */
const concrete = new WeakMap<object, ReadonlyMap<string, string[]>>();

/** Upper-case methods of all routes for `path`, sorted; empty without a route. */
export function allowedMethods(router: unknown, path: string): string[] {
  return methodsOfConcrete(router, path) ?? methodsOf(routesOf(router as Routed, (layer) => matches(layer, path)));
}

/**
 * Answers `OPTIONS`; Express would answer with the methods of one router only. Mount it before all routers. It needs no
 * caller: which methods a path has is public (`/openapi.json`).
 */
export function answerOptions(routes: () => unknown): RequestHandler {
  return (req, res, next) => {
    const allowed = req.method === 'OPTIONS' ? allowedMethods(routes(), pathOf(req)) : [];
    if (allowed.length === 0) return next();
    res.set('Allow', allowed.join(', ')).status(204).end();
  };
}

/**
 * The router, passed over for a path that no route of it begins like. Express tries the expression of every route in
 * turn, which took a seventh of the time of a short request.
 */
export function routed(router: Router): RequestHandler {
  const beginnings = beginningsOf(router as unknown as Routed);
  if (!beginnings) return router;
  const handle: RequestHandler = (req, res, next) => (isListed(beginnings, req.path) ? router(req, res, next) : next());
  // What reads the mounted routes finds them here.
  return Object.assign(handle, { stack: router.stack });
}

/** Segments that a beginning has at most: `/management/v1/users`. */
const MOST_SEGMENTS = 3;

/** How the paths of its routes begin; undefined when one may have any path. */
function beginningsOf({ stack = [] }: Routed): Set<string> | undefined {
  const found = new Set<string>();
  for (const { handle, rawPath, slash } of stack) {
    const inner = slash ? (handle as Routed).stack && beginningsOf(handle as Routed) : undefined;
    if (slash && !inner) return undefined;
    for (const path of inner ?? [rawPath].flat()) {
      const beginning = typeof path === 'string' ? literal(path) : '';
      if (beginning === '') return undefined;
      found.add(beginning);
    }
  }
  return found;
}

/** The segments before the first with a parameter. */
function literal(path: string): string {
  const [, ...segments] = plain(path)
    .split('/')
    .slice(0, MOST_SEGMENTS + 1);
  const end = segments.findIndex((segment) => /[:*{(]/.test(segment));
  return segments
    .slice(0, end < 0 ? MOST_SEGMENTS : end)
    .map((segment) => `/${segment}`)
    .join('');
}

function isListed(beginnings: ReadonlySet<string>, path: string): boolean {
  const lower = path.toLowerCase();
  let end = 0;
  for (let i = 0; i < MOST_SEGMENTS && end < lower.length; i++) {
    const slash = lower.indexOf('/', end + 1);
    end = slash < 0 ? lower.length : slash;
    if (beginnings.has(lower.slice(0, end))) return true;
  }
  return false;
}

/** The methods of a path without parameters; undefined for any other path. */
export function methodsOfConcrete(router: unknown, path: string): string[] | undefined {
  const known = concrete.get(router as object) ?? collectConcrete(router as Routed);
  concrete.set(router as object, known);
  return known.get(plain(path));
}

function collectConcrete(router: Routed): Map<string, string[]> {
  const byPath = new Map<string, Route[]>();
  for (const route of routesOf(router, () => true)) {
    for (const path of [route.path].flat()) {
      if (typeof path !== 'string' || /[:*{]/.test(path)) continue;
      byPath.set(plain(path), [...(byPath.get(plain(path)) ?? []), route]);
    }
  }
  return new Map([...byPath].map(([path, routes]) => [path, methodsOf(routes)]));
}

/** Express ignores case and a trailing slash. */
function plain(path: string): string {
  return path.toLowerCase().replace(/(?<=.)\/$/, '');
}

function routesOf(router: Routed, isMeant: (layer: Layer) => boolean): Route[] {
  return (router.stack ?? []).flatMap((layer) => {
    if (!layer.route) return routesOf(layer.handle as Routed, isMeant);
    return isMeant(layer) ? [layer.route] : [];
  });
}

/** Every path also has `HEAD` with `GET`, and `OPTIONS`. */
function methodsOf(routes: Route[]): string[] {
  const found = new Set(routes.flatMap((route) => Object.keys(route.methods)).map((method) => method.toUpperCase()));
  if (found.has('GET')) found.add('HEAD');
  if (found.size > 0) found.add('OPTIONS');
  return [...found].sort();
}

function matches(layer: Layer, path: string): boolean {
  try {
    return Boolean(layer.match(path));
  } catch {
    return false; // a path with an invalid percent-encoding has no route
  }
}

/**
 * The pattern of a mounted route as text, `/admin/v1/orgs/:orgId`: a label of bounded cardinality, unlike a raw path.
 * The named groups of a regular expression become the same form.
 * @param path the path of an Express route. If it is a list, the result is the pattern that matches `asked`, or all of
 *   them joined with `|`
 */
export function routePattern(path: unknown, asked = ''): string {
  if (Array.isArray(path)) {
    const patterns = path.map((one) => routePattern(one));
    return patterns.find((pattern) => fits(pattern, asked)) ?? patterns.join('|');
  }
  return path instanceof RegExp ? ofExpression(path) : String(path);
}

function fits(pattern: string, asked: string): boolean {
  const [segments, given] = [pattern.split('/'), asked.replace(/\/$/, '').split('/')];
  return segments.length === given.length && segments.every((s, i) => s.startsWith(':') || s === given[i]);
}

const LOOK_AHEAD = /\(\?[!=](?:[^()]|\([^()]*\))*\)/g;
const NAMED_GROUP = /\(\?<(\w+)>(?:[^()]|\([^()]*\))*\)/g;

function ofExpression(path: RegExp): string {
  const slashes = path.source.replaceAll('\\/', '/').replaceAll('\\.', '.');
  return slashes
    .replace(LOOK_AHEAD, '')
    .replace(NAMED_GROUP, ':$1')
    .replace(/^\^|(?:\/\?)?\$$/g, '');
}
