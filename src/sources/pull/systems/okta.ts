/**
 * Okta: List Users, page by page as the `Link` header says. Okta returns no password hashes.
 *
 * https://developer.okta.com/docs/api/openapi/okta-management/management/tag/User/ (List all users)
 * https://support.okta.com/help/s/article/Pagination-Overview
 * https://developer.okta.com/docs/reference/rl-best-practices/ (X-Rate-Limit-Remaining, X-Rate-Limit-Reset)
 */
import type { Fields } from '../../source.ts';
import { type Http, nextLink, openHttp } from '../http.ts';
import {
  baseUrl,
  numberOption,
  PullError,
  type PullSystem,
  type RecordPage,
  requiredOption,
  type Start,
  secretOf,
} from '../system.ts';

export const okta: PullSystem = {
  name: 'okta',
  title: 'Okta',
  describe: "Okta's Users API; it returns no password hashes",
  source: 'okta',
  options: {
    host: { describe: 'host of the organization: acme.okta.com', required: true },
    'page-size': { describe: 'users in a page, at most 200', default: '200' },
  },
  secrets: [{ name: 'token', env: 'PULL_TOKEN', prompt: 'API token of Okta' }],
  tellsChanges: true,
  continues: true,
  async open(settings) {
    const base = baseUrl('host', requiredOption(settings, 'host'));
    const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 200]);
    const http = openHttp({ ...settings, title: 'Okta' });
    const headers = { authorization: `SSWS ${secretOf(settings, 'token')}` };
    return {
      identity: base,
      pages: (start) => pages(http, headers, base, size, start),
      close: async () => {},
    };
  },
};

async function* pages(
  http: Http,
  headers: Record<string, string>,
  base: string,
  size: number,
  { cursor, since }: Start,
): AsyncGenerator<RecordPage> {
  const query = new URLSearchParams({ limit: String(size) });
  // Without a search, deactivated users would be left out of changes; with it, all that changed are found.
  if (since !== undefined) query.set('search', `lastUpdated gt "${since}"`);
  if (cursor !== undefined) query.set('after', cursor);
  for (;;) {
    const { body, headers: answer } = await http.json<Fields[]>(`${base}/api/v1/users?${query}`, { headers });
    if (!Array.isArray(body))
      throw new PullError('failed', 'Okta did not answer with a list of users.', 'Check --host.');
    const after = nextLink(answer, base)?.searchParams.get('after') ?? undefined;
    if (body.length > 0) yield { records: body, cursor: after ?? query.get('after') ?? '' };
    if (after === undefined) return;
    query.set('after', after);
  }
}
