/** The pattern of a mounted route as text: what may be a label where a raw path, of which there is no end, may not. */

/**
 * `/admin/v1/orgs/:orgId`; a regular expression with its named groups in the same form.
 * @param path as Express keeps it of a route: of several patterns, the one that fits `asked`, or all with a `|` between
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
