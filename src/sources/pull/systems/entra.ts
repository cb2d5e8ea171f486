/**
 * Microsoft Entra and Azure AD B2C: the users that Microsoft Graph lists, or its delta query, which workforce tenants
 * have and external and B2C tenants have not. Graph returns no password hashes.
 *
 * Nothing says how long the link to a next page is valid, so an interrupted run reads from the beginning and sends what
 * it had not sent.
 * https://learn.microsoft.com/graph/api/user-list, …/api/user-delta, …/graph/delta-query-overview
 * https://learn.microsoft.com/graph/throttling (429 with Retry-After)
 */
import type { Fields } from '../../source.ts';
import { fieldNames } from '../../values.ts';
import { clientToken, type Http, openHttp } from '../http.ts';
import {
  baseUrl,
  numberOption,
  optionOf,
  PullError,
  type PullSettings,
  type PullSystem,
  type RecordPage,
  requiredOption,
  secretOf,
} from '../system.ts';

/** The properties that the source reads. */
const PROPERTIES = [
  ...fieldNames(`id accountEnabled displayName givenName surname userPrincipalName mail otherMails
  mobilePhone businessPhones preferredLanguage identities`),
];
/** The state of a delta query is too old: everything must be read once more. */
const GONE = 410;

export const entra: PullSystem = {
  name: 'entra',
  title: 'Microsoft Entra',
  describe: 'Microsoft Graph, for Entra ID, Entra External ID and Azure AD B2C; it returns no password hashes',
  source: 'entra',
  options: {
    tenant: { describe: 'id or domain of the tenant: acme.onmicrosoft.com', required: true },
    'client-id': { describe: 'application with the permission User.Read.All', required: true },
    select: { describe: 'further properties, such as extension_…, separated by commas' },
    changes: {
      describe: 'compare: read all users; delta: ask for changes, not in external and B2C tenants',
      choices: ['compare', 'delta'],
      default: 'compare',
    },
    host: { describe: 'address of Graph', default: 'https://graph.microsoft.com' },
    'login-host': { describe: 'where tokens come from', default: 'https://login.microsoftonline.com' },
    'page-size': { describe: 'users in a page, at most 999', default: '999' },
  },
  secrets: [{ name: 'secret', env: 'PULL_CLIENT_SECRET', prompt: 'Client secret of the application' }],
  tellsChanges: 'since the last run',
  continues: false,
  async open(settings) {
    const base = baseUrl('host', requiredOption(settings, 'host'));
    const login = baseUrl('login-host', requiredOption(settings, 'login-host'));
    const tenant = requiredOption(settings, 'tenant');
    const isDelta = optionOf(settings, 'changes') === 'delta';
    const http = openHttp({ ...settings, title: 'Microsoft Graph' });
    const token = clientToken(http, `${login}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`, {
      client_id: requiredOption(settings, 'client-id'),
      client_secret: secretOf(settings, 'secret'),
      scope: `${base}/.default`,
    });
    // A wrong secret is reported before anything is read.
    await token();
    const first = firstUrl(settings, base, isDelta);
    return {
      // A mark of a delta query means nothing to the list, and the other way round.
      identity: `${base} ${tenant}${isDelta ? ' delta' : ''}`,
      async *pages({ since }) {
        const from = isDelta && since !== undefined ? onHost(since, base) : first;
        const read = (url: string) => pages(http, token, base, url, settings);
        try {
          yield* read(from);
        } catch (error) {
          if (!(error instanceof PullError) || error.status !== GONE || from === first) throw error;
          settings.note('Microsoft Graph no longer knows the last run: reading all users.');
          yield* read(first);
        }
      },
      close: async () => {},
    };
  },
};

function firstUrl(settings: PullSettings, base: string, isDelta: boolean): string {
  const more = (optionOf(settings, 'select') ?? '').split(',').map((name) => name.trim());
  const select = [...PROPERTIES, ...more.filter((name) => name !== '')].join(',');
  const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 999]);
  // The delta query takes the size from a header.
  const query = new URLSearchParams({ $select: select, ...(isDelta ? {} : { $top: String(size) }) });
  return `${base}/v1.0/users${isDelta ? '/delta' : ''}?${query}`;
}

interface Answer {
  value?: Fields[];
  '@odata.nextLink'?: string;
  '@odata.deltaLink'?: string;
}

async function* pages(
  http: Http,
  token: () => Promise<string>,
  base: string,
  from: string,
  settings: PullSettings,
): AsyncGenerator<RecordPage> {
  const prefer = `odata.maxpagesize=${requiredOption(settings, 'page-size')}`;
  for (let url = from, read = 0; ; ) {
    const headers = { authorization: `Bearer ${await token()}`, prefer };
    const { body } = await http.json<Answer>(url, { headers });
    const { value, '@odata.nextLink': next, '@odata.deltaLink': mark } = body;
    if (!Array.isArray(value)) throw new PullError('failed', 'Microsoft Graph did not answer with a list of users.');
    read += value.length;
    // Who was deleted there stays here. A page may be empty although others follow.
    const records = value.filter((record) => !Object.hasOwn(record, '@removed'));
    yield { records, cursor: String(read), ...(mark === undefined ? {} : { mark }) };
    if (next === undefined) return;
    url = onHost(next, base);
  }
}

/** The token must not go to another host. */
function onHost(link: string, base: string): string {
  if (URL.parse(link)?.origin === new URL(base).origin) return link;
  throw new PullError('failed', 'The link of Microsoft Graph to its next page leads to another host.');
}
