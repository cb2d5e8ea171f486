/** The pattern of a mounted route as text: a label of bounded cardinality, unlike a raw path. */

/**
 * `/admin/v1/orgs/:orgId`; the named groups of a regular expression become the same form.
 * @param path the path of an Express route; of several patterns, the one that matches `asked`, or all joined with `|`
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
