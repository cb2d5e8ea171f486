/** The mounted routes, read from Express's routers. */
import { routePattern } from '../../src/platform/http/methods.ts';

interface Routed {
  stack?: Layer[];
}
interface Layer {
  route?: { path: unknown; methods: Record<string, boolean> } | undefined;
  handle: unknown;
}

/** Such as `GET /v2beta/users/:userId`; one for each method of each route. */
export function mountedRoutes(router: unknown): string[] {
  const found: string[] = [];
  for (const { route, handle } of (router as Routed).stack ?? []) {
    if (!route) found.push(...mountedRoutes(handle));
    else found.push(...ofRoute(route));
  }
  return found;
}

function ofRoute({ path, methods }: NonNullable<Layer['route']>): string[] {
  const patterns = [path].flat().map((one) => routePattern(one));
  return Object.keys(methods).flatMap((method) => patterns.map((pattern) => `${method.toUpperCase()} ${pattern}`));
}
