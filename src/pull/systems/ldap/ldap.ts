/**
 * A directory, by paged searches (RFC 2696) over LDAPS or StartTLS.
 *
 * The cookie of a page is good for its connection only, so an interrupted run reads from the beginning and sends what
 * it had not sent.
 */
import { isUtf8 } from 'node:buffer';
import type { Client, Entry } from 'ldapts';
import type { Fields } from '../../../sources/source.ts';
import { numberOption, optionOf, requiredOption } from '../../settings.ts';
import type { Page, PullSettings, PullSystem } from '../../system.ts';
import { asPullError, connected, urlOf } from './connection.ts';

/** Their values are bytes; `ldapts` compares names by case. */
const BYTES = ['objectGUID', 'objectSid', 'jpegPhoto', 'thumbnailPhoto', 'userCertificate'];

export const ldap: PullSystem = {
  name: 'ldap',
  title: 'LDAP',
  describe: 'an LDAP directory (OpenLDAP, Active Directory, FreeIPA …), by paged searches',
  source: 'ldif',
  options: {
    host: { describe: 'ldaps://host or ldap://host (StartTLS)', required: true },
    'ca-file': { describe: 'certificates (PEM) of the authority that signed that of the directory' },
    base: { describe: 'DN below which the people are', required: true },
    'bind-dn': { describe: 'DN to sign in as (default: anonymous)' },
    filter: {
      describe: 'which entries',
      default: '(|(objectClass=person)(objectClass=posixAccount)(objectClass=account))',
    },
    'changed-attribute': {
      describe: "time of an entry's last change; whenChanged for Active Directory",
      default: 'modifyTimestamp',
    },
    'page-size': { describe: 'entries in a page', default: '1000' },
  },
  secrets: [{ name: 'password', env: 'PULL_PASSWORD', prompt: 'Password of the bind DN', optional: true }],
  tellsChanges: true,
  continues: false,
  asText: ldifText,
  async open(settings) {
    const url = urlOf(requiredOption(settings, 'host'));
    const base = requiredOption(settings, 'base');
    const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 10_000]);
    const client = await connected(url, settings);
    const cut = () => void client.unbind().catch(() => {}); // the search that waits then ends
    settings.signal.addEventListener('abort', cut);
    return {
      identity: `${url.protocol}//${url.host} ${base} ${optionOf(settings, 'filter')}`,
      pages: ({ since }) => pages(client, base, filterOf(settings, since), size),
      async close() {
        settings.signal.removeEventListener('abort', cut);
        await client.unbind().catch(() => {}); // already gone
      },
    };
  },
};

function filterOf(settings: PullSettings, since: string | undefined): string {
  const filter = requiredOption(settings, 'filter');
  if (since === undefined) return filter;
  // GeneralizedTime of RFC 4517 section 3.3.13, in the form that Active Directory takes too.
  const time = `${since.replace(/[-:T]/g, '').slice(0, 14)}.0Z`;
  return `(&${filter}(${requiredOption(settings, 'changed-attribute')}>=${time}))`;
}

async function* pages(client: Client, base: string, filter: string, size: number): AsyncGenerator<Page> {
  const search = client.searchPaginated(base, {
    scope: 'sub',
    filter,
    paged: { pageSize: size },
    // All attributes, and those of the server's bookkeeping: entryUUID, pwdAccountLockedTime.
    attributes: ['*', '+'],
    explicitBufferAttributes: BYTES,
  });
  let read = 0;
  try {
    for await (const { searchEntries } of search) {
      read += searchEntries.length;
      if (searchEntries.length > 0) yield { records: searchEntries.map(recordOf), cursor: String(read) };
    }
  } catch (error) {
    throw asPullError(error as Error);
  }
}

/** As the reader of LDIF files returns an entry: names in lower case without options, values as lists of texts. */
function recordOf({ dn, ...attributes }: Entry): Fields {
  const record: Record<string, string | string[]> = { dn };
  for (const [name, value] of Object.entries(attributes)) {
    const key = name.replace(/;.*$/, '').toLowerCase();
    if (key === '*' || key === '+') continue;
    const texts = (Array.isArray(value) ? value : [value]).map((one) =>
      typeof one === 'string' ? one : one.toString(isUtf8(one) ? 'utf8' : 'latin1'),
    );
    const before = record[key];
    if (texts.length > 0) record[key] = [...(Array.isArray(before) ? before : []), ...texts];
  }
  return record;
}

/** Values in base64 need no escaping (RFC 2849). */
function ldifText({ dn, ...attributes }: Fields): string {
  const line = (name: string, value: unknown) => `${name}:: ${Buffer.from(String(value)).toString('base64')}\n`;
  const lines = Object.entries(attributes).flatMap(([name, values]) => (values as string[]).map((v) => line(name, v)));
  return line('dn', dn) + lines.join('');
}
