/** What Express has mounted, as the document would write it. */
import { routePattern } from '../../src/http/route-pattern.ts';

interface Layer {
  route?: { path: unknown; methods: Record<string, boolean> };
  handle: { stack?: Layer[] };
}

/** `GET /v2beta/users/{userId}`, of every route however deep it is mounted. */
export function routesOf(router: unknown): string[] {
  return ((router as { stack?: Layer[] }).stack ?? []).flatMap(({ route, handle }) => {
    if (!route) return routesOf(handle);
    const paths = routePattern(route.path)
      .replace(/:(\w+)/g, '{$1}')
      .split('|');
    return Object.keys(route.methods).flatMap((method) => paths.map((path) => `${method.toUpperCase()} ${path}`));
  });
}
