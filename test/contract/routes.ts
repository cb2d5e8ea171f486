/** The routes mounted in Express, in the document's notation. */
import { routePattern } from '../../src/platform/http/methods.ts';

interface Layer {
  route?: { path: unknown; methods: Record<string, boolean> };
  handle: { stack?: Layer[] };
}

/** `GET /v2beta/users/{userId}`, for every route at any depth. */
export function routesOf(router: unknown): string[] {
  return ((router as { stack?: Layer[] }).stack ?? []).flatMap(({ route, handle }) => {
    if (!route) return routesOf(handle);
    const paths = routePattern(route.path)
      .replace(/:(\w+)/g, '{$1}')
      .split('|');
    return Object.keys(route.methods).flatMap((method) => paths.map((path) => `${method.toUpperCase()} ${path}`));
  });
}
