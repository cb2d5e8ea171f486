/** The routes mounted in Express, in the document's notation. */
import { mountedRoutes } from '../roles/mounted.ts';

/** `GET /v2beta/users/{userId}`, for every route at any depth. */
export function routesOf(router: unknown): string[] {
  return mountedRoutes(router).map((route) => route.replace(/:(\w+)/g, '{$1}'));
}
