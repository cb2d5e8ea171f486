/**
 * Firebase Authentication and Identity Platform: the users of a project or tenant with their password hashes, and the
 * parameters of these hashes, as far as the service account may read them.
 *
 * https://cloud.google.com/identity-platform/docs/reference/rest/v1/projects.accounts/batchGet
 * https://cloud.google.com/identity-platform/docs/reference/rest/v2/Config (signIn.hashConfig)
 */
import { type Fields, UsageError } from '../../../sources/source.ts';
import { objectAt, textAt } from '../../../sources/values.ts';
import { type Http, openHttp } from '../../http/http.ts';
import { clientToken } from '../../http/token.ts';
import { baseUrl, numberOption, optionOf, requiredOption, secretOf } from '../../settings.ts';
import { PullError, type PullSystem } from '../../system.ts';
import { assertionForm, serviceAccountOf } from './service-account.ts';

const NO_PARAMETERS =
  'The service account may not read the parameters of the hashes, and gets no hashes without firebaseauth.configs.getHashConfig (role Firebase Authentication Admin).';

export const firebase: PullSystem = {
  name: 'firebase',
  title: 'Firebase Authentication',
  describe: "Firebase's Identity Toolkit API, with password hashes and their parameters",
  source: 'firebase',
  options: {
    project: { describe: 'id of the project (default: that of the key)' },
    tenant: { describe: 'id of a tenant of Identity Platform (default: users without a tenant)' },
    host: { describe: 'address of the API', default: 'https://identitytoolkit.googleapis.com' },
    'page-size': { describe: 'users in a page, at most 1000', default: '1000' },
  },
  secrets: [
    { name: 'key', env: 'PULL_SERVICE_ACCOUNT', prompt: 'The JSON key of a service account', neverAsked: true },
  ],
  tellsChanges: false,
  continues: true,
  async open(settings) {
    const account = serviceAccountOf(secretOf(settings, 'key'));
    const base = baseUrl('host', requiredOption(settings, 'host'));
    const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 1000]);
    const project = optionOf(settings, 'project') ?? account.project;
    if (project === undefined) throw new UsageError('--project is required, as the key names no project.');
    const tenant = optionOf(settings, 'tenant');
    const http = openHttp({ ...settings, title: 'Firebase' });
    // A wrong key is reported before anything is read.
    const token = clientToken(http, account.tokenUrl, () => assertionForm(account, Date.now()));
    const headers = async () => ({ authorization: `Bearer ${await token()}` });
    const within = `projects/${encodeURIComponent(project)}${tenant === undefined ? '' : `/tenants/${encodeURIComponent(tenant)}`}`;
    const config = tenant === undefined ? `${base}/admin/v2/${within}/config` : `${base}/v2/${within}`;
    const hashConfig = await parametersOf(http, config, await headers());
    if (hashConfig === undefined) settings.note(NO_PARAMETERS);
    return {
      identity: `${base} ${within}`,
      hashConfig,
      async *pages({ cursor }) {
        for (let token = cursor; ; ) {
          const query = new URLSearchParams({ maxResults: String(size) });
          if (token !== undefined) query.set('nextPageToken', token);
          const url = `${base}/v1/${within}/accounts:batchGet?${query}`;
          const { body } = await http.json<{ users?: Fields[]; nextPageToken?: string }>(url, {
            headers: await headers(),
          });
          const { users = [], nextPageToken: next } = body;
          if (users.length > 0) yield { records: users, cursor: next ?? token ?? '' };
          if (next === undefined || next === '' || users.length === 0) return;
          token = next;
        }
      },
      close: async () => {},
    };
  },
};

/** As the console shows them; undefined if the account may not read them. */
async function parametersOf(http: Http, url: string, headers: Record<string, string>): Promise<string | undefined> {
  try {
    const { body } = await http.json<Fields>(url, { headers });
    const found = [objectAt(body, 'signIn'), body].map((part) => objectAt(part, 'hashConfig'));
    const config = found.find((one) => textAt(one, 'signerKey') !== undefined);
    return config && JSON.stringify({ ...config, memCost: config.memoryCost });
  } catch (error) {
    if (error instanceof PullError && error.status === 403) return undefined;
    throw error;
  }
}
