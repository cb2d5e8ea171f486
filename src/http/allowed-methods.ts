/** The methods that a path supports, read from the mounted routes, so that there is no second list to maintain. */

/** A router as Express stores it: layers that are a route, another router or plain middleware. */
interface Routed {
  stack?: Layer[];
}
interface Layer {
  route?: { methods: Record<string, boolean> } | undefined;
  handle: unknown;
  match(path: string): unknown;
}

/** Upper-case methods of all routes for `path`, sorted; empty without a route. Routers must be mounted at `/`. */
export function allowedMethods(router: unknown, path: string): string[] {
  const found = new Set<string>();
  collect(router as Routed, path, found);
  if (found.has('GET')) found.add('HEAD');
  return [...found].sort();
}

function collect(router: Routed, path: string, found: Set<string>): void {
  for (const layer of router.stack ?? []) {
    if (layer.route) {
      if (matches(layer, path)) for (const method of Object.keys(layer.route.methods)) found.add(method.toUpperCase());
    } else {
      collect(layer.handle as Routed, path, found);
    }
  }
}

function matches(layer: Layer, path: string): boolean {
  try {
    return Boolean(layer.match(path));
  } catch {
    return false; // a path with an invalid percent-encoding has no route
  }
}
