export { type Answer, badFieldsOf, type CallOptions, errorId, unique } from './answers.ts';

import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';
import { type Logger, pino } from 'pino';
import { signInMeans } from '../../src/imports/entries/sign-in-means.ts';
import { openQueues } from '../../src/imports/queue/queues.ts';
import { openImportSignal } from '../../src/imports/status/watch.ts';
import { openApiMetrics } from '../../src/operate/metrics.ts';
import { openHasher } from '../../src/passwords/hasher.ts';
import { type Config, readConfig } from '../../src/platform/config.ts';
import { openReads } from '../../src/platform/db/replica.ts';
import { openSecrets } from '../../src/platform/encryption.ts';
import { listen } from '../../src/platform/http/server.ts';
import { bootstrap } from '../../src/signin/bootstrap.ts';
import { openProvider } from '../../src/signin/oauth/provider.ts';
import { type AppDeps, buildApp } from '../../src/start/app.ts';
import { type Answer, type CallOptions, unique } from './answers.ts';
import { testDatabase } from './stores/postgres.ts';
import { addSigningKey } from './stores/signing-key.ts';
/**
 * The API on a free port in this process, with a new database that holds a bootstrapped instance.
 *
 * Its queues open with the first job, so a test without imports never touches them. A test that needs workers starts
 * them with `api.deps`; with `REDIS_URL` in `env` the queues are on Redis.
 */

export interface ApiOptions {
  /** Settings that override the defaults, as environment variables. */
  env?: Record<string, string>;
  logger?: Logger;
  /** Of the address, as a browser has no passkeys at an IP address. Default: 127.0.0.1. */
  host?: 'localhost';
}

export interface TestApi {
  url: string;
  /** Token of the instance's administrator. */
  token: string;
  /** What the application was built from; its `config` holds `DATABASE_URL`. */
  deps: AppDeps & { config: Config & { DATABASE_URL: string } };
  /** Sends a JSON body; a string or bytes are sent unchanged. A response that is not JSON is returned as text. */
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  setupOrg(options?: SetupOptions): Promise<SetUp>;
  /** A machine user of the organization with a token. */
  machine(orgId: string, roles?: string[]): Promise<{ userId: string; token: string }>;
  /** Cuts all connections, as if the process had died. Returns what listens on the same port again. */
  kill(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

export interface SetupOptions {
  org?: Record<string, unknown>;
  human?: Record<string, unknown>;
  roles?: string[];
}

export interface SetUp {
  orgId: string;
  userId: string;
  userName: string;
  password: string;
}

/** One for all APIs of this process, as its thread takes as long to start as an API. */
const HASHER = openHasher({ threads: 1, bcryptCost: 4 });

/** Starts the API; call `stop` when the test is over. */
export async function startApi(options: ApiOptions = {}): Promise<TestApi> {
  const database = await testDatabase();
  const token = randomBytes(24).toString('base64url');
  const settings = readConfig({
    DATABASE_URL: database.url,
    BOOTSTRAP_TOKEN: token,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    QUEUE_PREFIX: `t${randomBytes(6).toString('hex')}`,
    ...options.env,
  });
  const config = { ...settings, DATABASE_URL: database.url };
  const stores = {
    pool: database.pool,
    reads: openReads(database.pool, config.DATABASE_REPLICA_URL),
    config,
    secrets: openSecrets(config.ENCRYPTION_KEY as string, config.DECRYPTION_KEYS),
    hasher: { ...HASHER },
    queues: openQueues(config),
    signal: openImportSignal(config.DATABASE_URL),
    logger: options.logger ?? pino({ level: 'silent' }),
  };
  // The links in mails contain the port, which is known only now.
  let app: ReturnType<typeof buildApp> | undefined;
  const open = (port: number) => listen((req, res) => app?.(req, res), { host: '127.0.0.1', port });
  let server = await open(0);
  const { port } = server;
  const url = `http://${options.host ?? '127.0.0.1'}:${port}`;
  if (!options.env?.BASE_URL) config.baseUrl = url;
  // Before the first connection. The processes (src/start/serve.ts, workers/start.ts) know the address earlier.
  stores.pool.options.onConnect = sessionWith(config);
  await bootstrap(stores);
  await addSigningKey(stores.pool, stores.secrets);
  const metrics = openApiMetrics(stores, config.METRICS_TOKEN);
  const deps = { ...stores, metrics, oauth: await openProvider(stores) };
  app = buildApp(deps);
  const call = caller(url, token);
  return {
    url,
    token,
    deps,
    call,
    setupOrg: (setup) => setupOrg(call, setup),
    machine: (orgId, roles) => machine(call, orgId, roles),
    async kill() {
      await server.stop(0);
      return async () => {
        server = await open(port);
      };
    },
    async stop() {
      await server.stop(1000);
      await Promise.all([deps.queues.close(), deps.signal.close(), deps.reads.close()]);
      await database.drop();
    },
  };
}

/** Settings of a session, for the `onConnect` of a pool. */
function sessionWith(config: Config): (client: ClientBase) => Promise<void> {
  return async (client) => {
    for (const setting of Object.entries(signInMeans(config))) {
      await client.query('select set_config($1, $2, false)', setting);
    }
  };
}

type Call = TestApi['call'];

function caller(url: string, admin: string): Call {
  return async (method, path, body, { token = admin, orgId, headers } = {}) => {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(orgId === undefined ? {} : { 'x-service-orgid': orgId }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: isRaw ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = text !== '' && response.headers.get('content-type')?.match(/[/+]json\b/);
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
  };
}

async function setupOrg(call: Call, { org, human, roles }: SetupOptions = {}): Promise<SetUp> {
  const first = {
    userName: unique('ann'),
    profile: { firstName: 'Ann', lastName: 'Arbor' },
    email: { email: 'ann@example.com', isEmailVerified: true },
    password: 'correct horse',
    ...human,
  };
  const body = { org: { name: unique('Acme'), ...org }, human: first, ...(roles ? { roles } : {}) };
  const { orgId, userId } = (await must(call('POST', '/admin/v1/orgs/_setup', body))).body;
  return { orgId, userId, userName: first.userName, password: first.password };
}

async function machine(call: Call, orgId: string, roles: string[] = []): Promise<{ userId: string; token: string }> {
  const name = unique('machine');
  const made = await must(call('POST', '/management/v1/users/machine', { userName: name, name }, { orgId }));
  const { userId } = made.body;
  if (roles.length > 0) await must(call('POST', '/management/v1/orgs/me/members', { userId, roles }, { orgId }));
  const { token } = (await must(call('POST', `/management/v1/users/${encodeURIComponent(userId)}/pats`, {}))).body;
  return { userId, token };
}

async function must(answer: Promise<Answer>): Promise<Answer> {
  const { status, body, headers } = await answer;
  if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return { status, body, headers };
}
