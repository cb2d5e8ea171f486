/** Which methods a path takes, read off the mounted routes, so that no second list of them has to be kept. */

/** What Express keeps of a router: layers that are a route, another router or plain middleware. */
interface Routed {
  stack?: Layer[];
}
interface Layer {
  route?: { methods: Record<string, boolean> } | undefined;
  handle: unknown;
  match(path: string): unknown;
}

/** Upper-case methods of all routes for `path`, sorted; empty when there is none. Routers must be mounted at `/`. */
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
    return false; // a broken percent-encoding is no path of ours
  }
}
