/** The next page of a list, by the header `Link` (RFC 8288). */

/** Undefined on the last page, and for an address on another host, to which no secret may go. */
export function nextLink(headers: Headers, base: string): URL | undefined {
  for (const part of (headers.get('link') ?? '').split(/,(?=\s*<)/)) {
    const [, target, parameters = ''] = /^\s*<([^>]*)>(.*)$/.exec(part) ?? [];
    if (target === undefined || !/;\s*rel\s*=\s*"?next"?/i.test(parameters)) continue;
    const url = URL.parse(target, `${base}/`);
    if (url !== null && url.origin === new URL(base).origin) return url;
  }
  return undefined;
}
