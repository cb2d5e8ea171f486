/**
 * `GET /admin/v1/diagnostics`: the facts that an operator checks first, for `muster doctor`. This file reports them;
 * src/contract/findings.ts evaluates them. `GET /admin/v1/workers`: the live worker processes, with host name and process id.
 *
 * Guarantee: the response contains no secret, no address of a store or mail server, and no user data. A Redis or mail
 * server that is down is reported as such, and delays the response for a few seconds at most. Nothing is changed.
 */
import { type Request, Router } from 'express';
import packageJson from '../../package.json' with { type: 'json' };
import {
  type Diagnostics,
  diagnosticsOperations,
  type MailFacts,
  type PostgresFacts,
  type ProxyFacts,
  type QueueFacts,
  type ReplicaFacts,
  type SenderFacts,
  type ServerFacts,
  type WorkerView,
} from '../contract/diagnostics.ts';
import { instance, serve } from '../contract/serve.ts';
import { backlog } from '../imports/intake/requirements.ts';
import type { QueueName, Queues } from '../imports/queue/queues.ts';
import { type RedisNode, readRedisNodes } from '../imports/queue/redis.ts';
import { readMissingRights } from '../imports/queue/redis-rights.ts';
import { type LiveWorker, listWorkers } from '../imports/status/workers.ts';
import { domainOf } from '../messages/mail/sender.ts';
import { readSenderRecords } from '../messages/mail/sender-records.ts';
import { verifySmtp } from '../messages/mail/verify-smtp.ts';
import type { Config } from '../platform/config.ts';
import { EVERY_SESSION } from '../platform/db/client.ts';
import { migrationState } from '../platform/db/migrate.ts';
import { type Db, isShared, type Pool } from '../platform/db/pool.ts';
import { positionOf, type Reads } from '../platform/db/replica.ts';
import { oneRow } from '../platform/db/rows.ts';
import type { Secrets } from '../platform/encryption.ts';
import { searchResult } from '../platform/http/answers.ts';
import { arrivalOf, contradictionOf, type TrustProxy } from '../platform/http/proxies.ts';
import { withTimeout } from '../platform/timeouts.ts';
import { unusedFirstStartSettings } from '../signin/bootstrap.ts';
import { canOpenKeys } from '../signin/oauth/keys.ts';
import { providerFacts } from '../signin/providers/check.ts';
import { byQueue, heldDuties, liveWorkers, workersByRole } from './store-metrics.ts';

/** Time limit for one read from the queue, and for the replica, in milliseconds. */
const PATIENCE_MS = 4000;

/** Counting of mails stops here: a larger number would say no more than "very many". */
const MOST_COUNTED = 100_000;

/** `transaction_timeout` exists since PostgreSQL 17. */
const TIME_LIMITS = ['statement_timeout', 'transaction_timeout', 'idle_session_timeout'] as const;

const POSTGRES_FACTS = `select current_setting('server_version') as version,
    (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as max,
    current_setting('fsync') = 'on' as fsync, current_setting('full_page_writes') = 'on' as "fullPageWrites",
    current_setting('synchronous_commit') as "synchronousCommit",
    pg_database_size(current_database())::float8 as "databaseBytes"`;

const SERVER_FACTS = `select current_setting('server_encoding') as encoding,
    current_setting('autovacuum') = 'on' and current_setting('track_counts') = 'on' as autovacuum,
    pg_size_bytes(current_setting('shared_buffers'))::float8 as "sharedBuffersBytes",
    pg_size_bytes(current_setting('max_wal_size'))::float8 as "maxWalBytes",
    (select coalesce(jsonb_object_agg(name, setting::float8), '{}') from pg_settings
      where name = any($1) and source not in ('default', 'client', 'session')) as timeouts,
    (select coalesce(jsonb_object_agg(name, current_setting(name)), '{}') from pg_settings where name = any($2)) as ours`;

const LAG = `
select pg_is_in_recovery() as "isReplica", coalesce(greatest(0, behind), 0)::float8 as "lagBytes",
  case when behind > 0 then greatest(0, extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()))
    else 0 end::float8 as "lagSeconds"
from (select pg_wal_lsn_diff($1::pg_lsn, pg_last_wal_replay_lsn()) as behind) as l`;

const TRIES = 3;
/** PgBouncer's answer to `begin` in statement pooling mode. */
const NO_TRANSACTIONS = /statement pooling/i;

export interface DiagnosticsDeps {
  pool: Pool;
  config: Config;
  secrets: Secrets;
  queues: Queues;
  reads: Reads;
}

export interface QueueFactsDeps {
  pool: Db;
  queues: Pick<Queues, 'kind' | 'depth' | 'workers'>;
  config: { REDIS_URL?: string | undefined; QUEUE_PREFIX: string };
}

type PostgresRow = Omit<PostgresFacts, 'connections' | 'settings' | 'migrations' | 'server'> &
  PostgresFacts['connections'] &
  PostgresFacts['settings'];

interface ServerRow extends Pick<ServerFacts, 'encoding' | 'autovacuum' | 'sharedBuffersBytes' | 'maxWalBytes'> {
  timeouts: Partial<ServerFacts['timeouts']>;
  ours: Record<string, string>;
}

export function diagnosticsRoutes(deps: DiagnosticsDeps): Router {
  const router = Router();
  serve(router, diagnosticsOperations.getDiagnostics, instance, async ({ req }) => ({
    ...(await diagnostics(deps)),
    ...proxyFacts(req, deps.config.TRUST_PROXY),
  }));
  serve(router, diagnosticsOperations.listWorkers, instance, async () => {
    const workers = await listWorkers(deps.pool);
    return searchResult(workers.length, workers.map(workerView));
  });
  return router;
}

/** How the service sees this request. @returns nothing for a request from inside the process, as the console makes */
function proxyFacts(req: Request, trust: TrustProxy): { proxy?: ProxyFacts } {
  const arrival = arrivalOf(req);
  if (arrival.peer === undefined) return {};
  const contradiction = contradictionOf(trust, arrival);
  const { forwarded } = arrival;
  return { proxy: { address: req.ip ?? arrival.peer, forwarded, ...(contradiction ? { contradiction } : {}) } };
}

function workerView({
  isStopping,
  backend,
  shards,
  importJobs,
  mailJobs,
  usersPerSecond,
  ...worker
}: LiveWorker): WorkerView {
  return {
    ...worker,
    failing: [...worker.failing],
    state: isStopping ? 'WORKER_STATE_STOPPING' : 'WORKER_STATE_RUNNING',
    queue: { backend, shards },
    jobs: { imports: importJobs, mails: mailJobs },
    usersPerSecond: Math.round(usersPerSecond * 10) / 10,
    startedAt: worker.startedAt.toISOString(),
    seenAt: worker.seenAt.toISOString(),
  };
}

async function diagnostics(deps: DiagnosticsDeps): Promise<Diagnostics> {
  const { pool, config, secrets, reads } = deps;
  const [postgres, queue, mail, opensKeys, waiting, replica, unusedSettings, identityProviders] = await Promise.all([
    postgresFacts(pool),
    queueFacts(deps),
    mailFacts(pool, config, config.MAIL_DNS_SERVERS),
    canOpenKeys({ pool, secrets }),
    backlog(pool),
    reads.replica && replicaFacts(pool, reads.replica),
    unusedFirstStartSettings(pool, config),
    providerFacts(deps),
  ]);
  return {
    version: packageJson.version,
    node: process.versions.node,
    postgres,
    ...(replica ? { replica } : {}),
    queue,
    mail,
    encryptionKey: { opensSigningKeys: opensKeys },
    limits: limitsOf(config, waiting),
    identityProviders,
    unusedSettings,
  };
}

function limitsOf(config: Config, waiting: number) {
  return {
    maxImportBytes: config.MAX_IMPORT_BYTES,
    maxImportTimeout: config.MAX_IMPORT_TIMEOUT,
    backlog: waiting,
    maxBacklog: config.MAX_BACKLOG,
    requestsPerSecond: config.RATE_LIMIT_REQUESTS,
    loginsPerMinute: config.RATE_LIMIT_LOGINS,
  };
}

/** Reads the facts of PostgreSQL. @param direct see `serverFacts` */
export async function postgresFacts(db: Pool, direct?: Pool): Promise<PostgresFacts> {
  const { rows } = await db.query<PostgresRow>(POSTGRES_FACTS);
  const { version, used, max, databaseBytes, ...settings } = oneRow(rows);
  // `18.4 (Debian 18.4-1)`: the build is irrelevant.
  const [number = version] = version.split(' ');
  return {
    version: number,
    connections: { used, max },
    settings,
    databaseBytes,
    migrations: await migrationState(db),
    server: await serverFacts(db, direct),
  };
}

/**
 * Uses two connections for some milliseconds.
 * @param pool of at least two connections
 * @param direct what has to have sessions of its own: `pool`, unless that is for shared sessions
 */
export async function serverFacts(pool: Pool, direct = isShared(pool) ? undefined : pool): Promise<ServerFacts> {
  const { rows } = await pool.query<ServerRow>(SERVER_FACTS, [TIME_LIMITS, Object.keys(EVERY_SESSION)]);
  const { encoding, autovacuum, sharedBuffersBytes, maxWalBytes, timeouts, ours } = oneRow(rows);
  return {
    encoding,
    overridden: Object.entries(ours).flatMap(([name, value]) =>
      value === EVERY_SESSION[name] ? [] : [`${name}=${value}`],
    ),
    timeouts: { statement_timeout: 0, transaction_timeout: 0, idle_session_timeout: 0, ...timeouts },
    autovacuum,
    sharedBuffersBytes,
    maxWalBytes,
    sharesSessions: direct !== undefined && (await sharesSessions(direct)),
  };
}

/** Whether one connection gets the server process of another open but idle one. A pooler reuses the last one first. */
async function sharesSessions(pool: Pool): Promise<boolean> {
  const [idle, busy] = [await pool.connect(), await pool.connect()];
  try {
    for (let n = 0; n < TRIES; n++) {
      const mine = await idle.query('select pg_backend_pid() as pid');
      await busy.query('begin');
      const theirs = await busy.query('select pg_backend_pid() as pid').finally(() => busy.query('rollback'));
      if (mine.rows[0].pid === theirs.rows[0].pid) return true;
    }
    return false;
  } catch (error) {
    if (NO_TRANSACTIONS.test((error as Error).message)) return true;
    throw error;
  } finally {
    idle.release();
    busy.release();
  }
}

/** Reads the facts of the queue; what does not answer within PATIENCE_MS is left out. */
export async function queueFacts({ pool, queues, config }: QueueFactsDeps): Promise<QueueFacts> {
  const url = config.REDIS_URL;
  const [jobs, workers, nodes, missing, duties, roles] = await Promise.all([
    ifItAnswers(shownJobs(queues)),
    ifItAnswers(shownWorkers(queues)),
    url === undefined ? undefined : ifItAnswers(readRedisNodes(url)),
    url === undefined ? [] : readMissingRights(url, config.QUEUE_PREFIX),
    heldDuties(pool),
    workersByRole(pool),
  ]);
  return {
    backend: queues.kind,
    answers: jobs !== undefined,
    ...(jobs ? { jobs } : {}),
    ...(workers ? { workers } : {}),
    roles,
    ...(missing.length > 0 ? { missingRights: missing } : {}),
    dispatching: duties.includes('dispatcher'),
    ...redisOf(nodes ?? []),
  };
}

/** The servers without addresses, and without reasons, which contain addresses. */
function redisOf(nodes: RedisNode[]): Pick<QueueFacts, 'redis' | 'redisNodes'> {
  const redis = nodes.find(({ facts }) => facts)?.facts;
  const all = nodes.map(({ role, facts, reason }) => ({
    role,
    answers: reason === undefined,
    ...(facts ? { facts } : {}),
  }));
  return { ...(redis ? { redis } : {}), ...(nodes.length > 1 ? { redisNodes: all } : {}) };
}

/** The value, or undefined if the store fails or takes too long, as the other facts are useful without it. */
function ifItAnswers<T>(read: Promise<T>): Promise<T | undefined> {
  return withTimeout(read, PATIENCE_MS, 'the queue').catch(() => undefined);
}

/** Reads the state of the replica. @throws errors of both servers, and TimedOut */
export function readReplica(primary: Db, replica: Db): Promise<ReplicaFacts> {
  const read = async () => {
    const { rows } = await replica.query<Omit<ReplicaFacts, 'answers'>>(LAG, [await positionOf(primary)]);
    return { answers: true, ...rows[0] };
  };
  return withTimeout(read(), PATIENCE_MS, 'the replica');
}

/** The state of the replica without the reason why it does not answer, which contains its address. */
export function replicaFacts(primary: Db, replica: Db): Promise<ReplicaFacts> {
  return readReplica(primary, replica).catch(() => ({ answers: false }));
}

/** @param servers of DNS, `address:port`; default: the servers of this machine */
export async function mailFacts(db: Db, config: SenderConfig, servers?: readonly string[]): Promise<MailFacts> {
  const [smtp, sender, pending, failedLastWeek] = await Promise.all([
    config.SMTP_URL === undefined ? undefined : verifySmtp(config.SMTP_URL),
    senderFacts(config, servers),
    count(db, `state = 'pending'`),
    count(db, `state = 'failed' and settled_at > now() - interval '7 days'`),
  ]);
  return {
    transport: smtp ? 'smtp' : 'files',
    ...(smtp ? { smtp } : {}),
    ...(sender ? { sender } : {}),
    pending,
    failedLastWeek,
  };
}

type SenderConfig = Pick<Config, 'SMTP_URL' | 'MAIL_FROM' | 'MAIL_DKIM_SELECTOR'>;

/** What DNS says about the sender; undefined without a mail server, and for a domain that has no place in public DNS. */
export async function senderFacts(config: SenderConfig, servers?: readonly string[]): Promise<SenderFacts | undefined> {
  const domain = domainOf(config.MAIL_FROM);
  if (config.SMTP_URL === undefined || !domain.includes('.')) return undefined;
  return readSenderRecords({ domain, selector: config.MAIL_DKIM_SELECTOR, servers });
}

async function count(db: Db, condition: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from (select from mail_outbox where ${condition} limit ${MOST_COUNTED}) as r`,
  );
  return rows[0]?.n ?? 0;
}

/** The queues as `/admin/v1/diagnostics` shows them. */
type ShownQueue = Exclude<QueueName, 'hashes'>;

async function shownJobs(queues: Pick<Queues, 'depth'>): Promise<Record<ShownQueue, number>> {
  const { imports, hashes, mails } = await byQueue((queue) => queues.depth(queue));
  return { imports: imports + hashes, mails };
}

async function shownWorkers(queues: Pick<Queues, 'workers'>): Promise<Record<ShownQueue, number>> {
  const { imports, mails } = await liveWorkers(queues);
  return { imports, mails };
}
