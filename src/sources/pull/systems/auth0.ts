/**
 * Auth0: an export job of the Management API, whose file (NDJSON, gzip) is read while it is downloaded. Auth0 returns no
 * password hashes; its support exports them on request.
 *
 * https://auth0.com/docs/manage-users/user-migration/bulk-user-exports
 * https://auth0.com/docs/api/management/v2/jobs/post-users-exports, …/jobs/get-jobs-by-id
 */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { ndjsonRecords } from '../../read/ndjson.ts';
import type { Fields } from '../../source.ts';
import { fieldNames } from '../../values.ts';
import { clientToken, type Http, openHttp } from '../http.ts';
import {
  baseUrl,
  optionOf,
  PullError,
  type PullSettings,
  type PullSystem,
  type RecordPage,
  requiredOption,
  secretOf,
} from '../system.ts';

const PAGE = 1000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const LONGEST_JOB_MS = 60 * 60_000;
/** The fields that the source reads; the usual set lacks some of them. */
const FIELDS = [
  ...fieldNames(`user_id email email_verified username phone_number phone_verified name given_name
  family_name nickname picture locale gender blocked identities user_metadata app_metadata created_at multifactor`),
];

export const auth0: PullSystem = {
  name: 'auth0',
  title: 'Auth0',
  describe: "an export job of Auth0's Management API; it returns no password hashes",
  source: 'auth0',
  options: {
    host: { describe: 'domain of the tenant: acme.eu.auth0.com', required: true },
    'client-id': { describe: 'machine-to-machine application with the scope read:users', required: true },
    audience: { describe: 'of the Management API (default: https://HOST/api/v2/)' },
    connection: { describe: 'id of a connection: only its users' },
  },
  secrets: [{ name: 'secret', env: 'PULL_CLIENT_SECRET', prompt: 'Client secret of Auth0' }],
  tellsChanges: false,
  continues: false,
  async open(settings) {
    const base = baseUrl('host', requiredOption(settings, 'host'));
    const http = openHttp({ ...settings, title: 'Auth0' });
    const token = clientToken(http, `${base}/oauth/token`, {
      client_id: requiredOption(settings, 'client-id'),
      client_secret: secretOf(settings, 'secret'),
      audience: optionOf(settings, 'audience') ?? `${base}/api/v2/`,
    });
    // A wrong secret is reported before anything is read.
    await token();
    return {
      identity: `${base} ${optionOf(settings, 'connection') ?? ''}`.trim(),
      pages: () => exported(http, base, token, settings),
      close: async () => {},
    };
  },
};

interface Job {
  id: string;
  status: string;
  location?: string;
}

async function* exported(
  http: Http,
  base: string,
  token: () => Promise<string>,
  settings: PullSettings,
): AsyncGenerator<RecordPage> {
  const location = await locationOf(http, base, token, settings);
  // The file is on another host, which the address itself admits: the token stays here.
  const response = await http.open(location);
  const bytes = Readable.fromWeb(response.body as never).pipe(createGunzip());
  let read = 0;
  let records: Fields[] = [];
  const page = () => {
    read += records.length;
    const full = { records, cursor: String(read) };
    records = [];
    return full;
  };
  try {
    for await (const group of ndjsonRecords(bytes)) {
      for (const { value, problem, line } of group) {
        if (problem !== undefined) throw new PullError('failed', `Line ${line} of Auth0's file ${problem}.`);
        records.push(value as Fields);
        if (records.length >= PAGE) yield page();
      }
    }
  } catch (error) {
    if (error instanceof PullError || settings.signal.aborted) throw error;
    throw new PullError('unreachable', `The download from Auth0 broke off: ${(error as Error).message}.`);
  } finally {
    bytes.destroy();
  }
  if (records.length > 0) yield page();
}

/** Starts the job and waits for its end. */
async function locationOf(
  http: Http,
  base: string,
  token: () => Promise<string>,
  settings: PullSettings,
): Promise<string> {
  const headers = async () => ({ authorization: `Bearer ${await token()}`, 'content-type': 'application/json' });
  const connection = optionOf(settings, 'connection');
  const fields = FIELDS.map((name) => ({ name }));
  const order = { format: 'json', fields, ...(connection === undefined ? {} : { connection_id: connection }) };
  const request = { method: 'POST' as const, headers: await headers(), body: JSON.stringify(order) };
  const { body: started } = await http.json<Job>(`${base}/api/v2/jobs/users-exports`, request);
  const givenUpAt = Date.now() + LONGEST_JOB_MS;
  for (let pause = FIRST_PAUSE_MS; Date.now() < givenUpAt; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const url = `${base}/api/v2/jobs/${encodeURIComponent(started.id)}`;
    const { body: job } = await http.json<Job>(url, { headers: await headers() });
    if (job.status === 'completed' && job.location) return job.location;
    if (job.status !== 'pending' && job.status !== 'processing')
      throw new PullError('failed', `The export job of Auth0 ended as ${job.status}.`);
    await sleep(pause, undefined, { signal: settings.signal });
  }
  throw new PullError('unreachable', 'The export job of Auth0 did not end within an hour.');
}
