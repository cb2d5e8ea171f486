/**
 * FusionAuth: User Search, in the order of the ids. FusionAuth returns no password hashes; they are in its database.
 *
 * With the search engine Elasticsearch or OpenSearch, a page is followed by what its `nextResults` names, also beyond
 * 10,000 users; with the engine of the database, pages count from an offset.
 * https://fusionauth.io/docs/apis/users/search
 * https://fusionauth.io/docs/lifecycle/manage-users/search/search#extended-pagination
 */
import type { Fields } from '../../source.ts';
import { type Http, openHttp } from '../http.ts';
import {
  baseUrl,
  numberOption,
  optionOf,
  PullError,
  type PullSystem,
  type RecordPage,
  requiredOption,
  secretOf,
} from '../system.ts';

export const fusionauth: PullSystem = {
  name: 'fusionauth',
  title: 'FusionAuth',
  describe: "FusionAuth's User Search; it returns no password hashes",
  source: 'fusionauth',
  options: {
    host: { describe: 'address of FusionAuth: https://auth.example.com', required: true },
    tenant: { describe: 'id of a tenant (default: that of the API key, or all)' },
    'page-size': { describe: 'users in a page', default: '500' },
  },
  secrets: [{ name: 'token', env: 'PULL_TOKEN', prompt: 'API key of FusionAuth' }],
  tellsChanges: false,
  continues: true,
  async open(settings) {
    const base = baseUrl('host', requiredOption(settings, 'host'));
    const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 1000]);
    const tenant = optionOf(settings, 'tenant');
    const http = openHttp({ ...settings, title: 'FusionAuth' });
    const headers: Record<string, string> = {
      authorization: secretOf(settings, 'token'),
      'content-type': 'application/json',
      ...(tenant === undefined ? {} : { 'x-fusionauth-tenantid': tenant }),
    };
    return {
      identity: `${base} ${tenant ?? ''}`.trim(),
      pages: ({ cursor }) => pages(http, `${base}/api/user/search`, headers, size, cursor),
      close: async () => {},
    };
  },
};

interface Answer {
  users?: Fields[];
  nextResults?: string;
}

/** @param cursor `nextResults` of a page, or the number of users before the next one */
async function* pages(
  http: Http,
  url: string,
  headers: Record<string, string>,
  size: number,
  cursor = '0',
): AsyncGenerator<RecordPage> {
  const all = { queryString: '*', sortFields: [{ name: 'id', order: 'asc' }] };
  for (let place = cursor; ; ) {
    const isOffset = /^\d+$/.test(place);
    const search = {
      numberOfResults: size,
      ...(isOffset ? { ...all, startRow: Number(place) } : { nextResults: place }),
    };
    const { body } = await http.json<Answer>(url, { method: 'POST', headers, body: JSON.stringify({ search }) });
    const { users = [], nextResults } = body;
    if (!Array.isArray(users)) throw new PullError('failed', 'FusionAuth did not answer with a list of users.');
    place = nextResults ?? (isOffset ? String(Number(place) + users.length) : place);
    if (users.length > 0) yield { records: users, cursor: place };
    if (users.length < size) return;
  }
}
