/**
 * Firebase Authentication and Identity Platform: the users of a project or tenant with their password hashes, and the
 * parameters of these hashes, as far as the service account may read them.
 * https://cloud.google.com/identity-platform/docs/reference/rest/v1/projects.accounts/batchGet
 * https://cloud.google.com/identity-platform/docs/reference/rest/v2/Config (signIn.hashConfig)
 * https://developers.google.com/identity/protocols/oauth2/service-account#httprest (RFC 7523)
 */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { UsageError } from '../../read/records.ts';
import type { Fields } from '../../source.ts';
import { isFields, objectAt, parseJson, textAt } from '../../values.ts';
import { clientToken, type Http, openHttp } from '../http.ts';
import { baseUrl, numberOption, optionOf, PullError, type PullSystem, requiredOption, secretOf } from '../system.ts';

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

interface ServiceAccount {
  email: string;
  key: KeyObject;
  keyId: string | undefined;
  project: string | undefined;
  tokenUrl: string;
}

/** @param text the JSON key file @throws UsageError, which does not repeat any of it */
function serviceAccountOf(text: string): ServiceAccount {
  const file = parseJson(text);
  const broken = new UsageError(
    'PULL_SERVICE_ACCOUNT must be the JSON key of a service account: PULL_SERVICE_ACCOUNT="$(cat key.json)".',
  );
  if (!isFields(file)) throw broken;
  const [email, pem] = [textAt(file, 'client_email'), textAt(file, 'private_key')];
  if (email === undefined || pem === undefined) throw broken;
  try {
    return {
      email,
      key: createPrivateKey(pem),
      keyId: textAt(file, 'private_key_id'),
      project: textAt(file, 'project_id'),
      tokenUrl: baseUrl('token_uri', textAt(file, 'token_uri') ?? 'https://oauth2.googleapis.com/token'),
    };
  } catch {
    throw broken;
  }
}

const SCOPE = 'https://www.googleapis.com/auth/identitytoolkit';
const VALID_S = 3600;

/** The form of a request for an access token, with an assertion that the key of the service account signs. */
function assertionForm({ email, key, keyId, tokenUrl }: ServiceAccount, now: number): Record<string, string> {
  const issued = Math.floor(now / 1000);
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
  const claims = { iss: email, scope: SCOPE, aud: tokenUrl, iat: issued, exp: issued + VALID_S };
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = sign('sha256', Buffer.from(text), key).toString('base64url');
  return { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: `${text}.${signature}` };
}
