/**
 * A directory, by paged searches (RFC 2696) over LDAPS or StartTLS. The cookie of a page is good for its connection only,
 * so an interrupted run reads from the beginning and sends what it had not sent.
 *
 * Guarantee: neither a password nor a user crosses a network in clear text, and the certificate is checked. What
 * arrived before TLS is never read as a part of what comes after it (response injection).
 */
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import net, { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Client, Entry } from 'ldapts';
import { UsageError } from '../../read/records.ts';
import type { Fields } from '../../source.ts';
import { driverOf } from '../sql.ts';
import {
  numberOption,
  optionOf,
  PullError,
  type PullSettings,
  type PullSystem,
  type RecordPage,
  requiredOption,
  secretOf,
  type Trouble,
} from '../system.ts';

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

/** Attributes whose values are bytes; `ldapts` compares names by case. */
const BYTES = ['objectGUID', 'objectSid', 'jpegPhoto', 'thumbnailPhoto', 'userCertificate'];

async function* pages(client: Client, base: string, filter: string, size: number): AsyncGenerator<RecordPage> {
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

/** Result codes of RFC 4511 appendix A. */
const [SIZE_LIMIT, STRONGER_AUTH, INVALID_CREDENTIALS, INSUFFICIENT_ACCESS] = [4, 8, 49, 50];
/** Codes of OpenSSL, as Node.js passes them on. */
const UNTRUSTED = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_)/;

function asPullError(error: Error & { code?: number | string }): Error {
  if (error instanceof PullError) return error;
  const { code } = error;
  if (code === SIZE_LIMIT) {
    return new PullError(
      'failed',
      'LDAP: the directory limits the number of entries that this user may read.',
      'Raise the limit for the bind DN: olcLimits in OpenLDAP, nsSizeLimit in 389 Directory Server.',
    );
  }
  if (typeof code === 'string' && UNTRUSTED.test(code)) {
    return new PullError(
      'unreachable',
      `LDAP: the certificate of the directory is not trusted: ${error.message}.`,
      'Name a file with the certificate of its authority: --ca-file ca.pem.',
    );
  }
  const isDenied = code === STRONGER_AUTH || code === INVALID_CREDENTIALS || code === INSUFFICIENT_ACCESS;
  const trouble: Trouble = isDenied ? 'denied' : typeof code === 'number' ? 'failed' : 'unreachable';
  return new PullError(trouble, `LDAP: ${said(error.message)}.`);
}

/** Characters of a server's message that are shown. */
const MOST_SAID = 2000;

/** Without the code that ldapts adds; a server's text may be long. */
function said(message: string): string {
  return message
    .slice(0, MOST_SAID)
    .replace(/\s+Code: 0x\w+$/, '')
    .replace(/\.$/, '');
}

/** Values in base64 need no escaping (RFC 2849). */
function ldifText({ dn, ...attributes }: Fields): string {
  const line = (name: string, value: unknown) => `${name}:: ${Buffer.from(String(value)).toString('base64')}\n`;
  const lines = Object.entries(attributes).flatMap(([name, values]) => (values as string[]).map((v) => line(name, v)));
  return line('dn', dn) + lines.join('');
}

/** @throws UsageError */
function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && /^ldaps?:$/.test(url.protocol) && url.username === '' && /^\/?$/.test(url.pathname)) return url;
  throw new UsageError('--host must be ldaps://host or ldap://host, with a port if it is not the usual one.');
}

const CONNECT_MS = 20_000;
const OPERATION_MS = 120_000;
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Without TLS on the same machine only: the password and the users would cross the network in clear text. */
async function connected(url: URL, settings: PullSettings): Promise<Client> {
  const { Client } = await driverOf('ldapts', import('ldapts'));
  const tls = await tlsOptions(url, settings);
  const startsTls = url.protocol === 'ldap:' && (!LOOPBACK.test(url.hostname) || tls.ca !== undefined);
  const inClear: Buffer[] = [];
  const client = new Client({
    url: `${url.protocol}//${url.host}`,
    timeout: OPERATION_MS,
    connectTimeout: CONNECT_MS,
    strictDN: false,
    ...(url.protocol === 'ldaps:' ? { tlsOptions: tls } : {}),
    ...(startsTls ? { createConnection: recording(inClear) } : {}),
  });
  try {
    if (startsTls) {
      await client.startTLS(tls);
      requireOneMessage(Buffer.concat(inClear));
    }
    const bindDn = optionOf(settings, 'bind-dn');
    if (bindDn !== undefined) await client.bind(bindDn, secretOf(settings, 'password'));
  } catch (error) {
    await client.unbind().catch(() => {}); // the first error says more
    throw asPullError(error as Error);
  }
  return client;
}

async function tlsOptions({ hostname }: URL, settings: PullSettings): Promise<ConnectionOptions> {
  const path = optionOf(settings, 'ca-file');
  const host = hostname.replace(/^\[|\]$/g, '');
  return {
    minVersion: 'TLSv1.2',
    // The name that the certificate must have; SNI allows no addresses.
    ...(isIP(host) ? { host } : { servername: host }),
    ...(path === undefined ? {} : { ca: await certificatesIn(path) }),
  };
}

async function certificatesIn(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`The file of --ca-file cannot be read: ${error.message}.`);
  });
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new UsageError('--ca-file must be a file with certificates in PEM.');
}

/** Keeps what arrives before TLS: the socket then hands its bytes to TLS alone. */
function recording(chunks: Buffer[]): typeof net.connect {
  return ((port: number, host: string) =>
    net.connect(port, host).on('data', (chunk) => void chunks.push(chunk))) as typeof net.connect;
}

/** The answer to StartTLS, of fewer than 128 bytes, and nothing else. @throws PullError */
function requireOneMessage(bytes: Buffer): void {
  const [, length = 0] = bytes;
  if (length < 0x80 && bytes.length === 2 + length) return;
  throw new PullError('failed', 'LDAP: the directory sent more than its answer before TLS.', 'Use ldaps:// instead.');
}
