/** Problems with the settings of a PostgreSQL server, and what to do. Each was measured or follows from the setting. */
import type { PostgresFacts } from '../diagnostics/postgres.ts';
import type { ServerFacts, TimeLimit } from '../diagnostics/postgres-server.ts';
import { type Finding, many, problem, size, warning } from './finding.ts';

const NAME = 'postgresql';

/** @param server absent when the service is older than this command */
export function judgeServer(server: ServerFacts | undefined): Finding[] {
  if (!server) return [];
  return [encoded, pooled, overridden, timed, vacuumed, buffered, walled]
    .map((judge) => judge(server))
    .filter((finding) => finding !== undefined);
}

function encoded({ encoding }: ServerFacts): Finding | undefined {
  if (encoding === 'UTF8') return undefined;
  const message = `the encoding of the database is ${encoding}: names with letters outside of it cannot be stored`;
  return problem(
    NAME,
    message,
    `Create a database for Muster with "create database … encoding 'UTF8' template template0".`,
  );
}

function pooled({ sharesSessions }: ServerFacts): Finding | undefined {
  if (!sharesSessions) return undefined;
  const message =
    'a connection pooler shares sessions between clients: the settings that Muster makes in them are lost';
  const advice =
    'Set DATABASE_DIRECT_URL to the address of PostgreSQL itself, beside the DATABASE_URL that leads to the pooler; or set pool_mode = session (PgBouncer).';
  return problem(NAME, message, advice);
}

/** With jit=on a batch of 200 users took 5 s instead of 10 ms (docs/performance.md). */
function overridden({ overridden: settings, sharesSessions }: ServerFacts): Finding | undefined {
  if (settings.length === 0 || sharesSessions) return undefined;
  const message = `${settings.join(', ')}: overrides settings of Muster's sessions; imports may be many times slower`;
  return warning(NAME, message, 'Remove these settings from the options of DATABASE_URL and from PGOPTIONS.');
}

/**
 * In seconds. One COPY of an upload takes up to 10; building an index in a migration or comparing the users of a large
 * body takes longer. A pool closes connections that were idle for 5; a server with a shorter limit would end one that
 * is about to be used.
 */
const LEAST_SECONDS: Record<TimeLimit, number> = {
  statement_timeout: 30,
  transaction_timeout: 60,
  idle_session_timeout: 15,
};

function timed({ timeouts }: ServerFacts): Finding | undefined {
  const short = (Object.keys(LEAST_SECONDS) as TimeLimit[]).filter(
    (name) => timeouts[name] > 0 && timeouts[name] < LEAST_SECONDS[name] * 1000,
  );
  if (short.length === 0) return undefined;
  const said = short.map((name) => `${name} is ${timeouts[name]} ms`).join(', ');
  const reset = short.map((name) => `alter role … set ${name} = 0`).join('; ');
  return warning(
    NAME,
    `${said}: uploads and other long work are cut off`,
    `Run for the role of DATABASE_URL: ${reset}.`,
  );
}

function vacuumed({ autovacuum }: ServerFacts): Finding | undefined {
  if (autovacuum) return undefined;
  const message = 'autovacuum (or track_counts) is off: tables and indexes grow with each import and each job';
  return warning(NAME, message, 'Set autovacuum = on and track_counts = on.');
}

/** PostgreSQL's default. */
const LEAST_BUFFERS = 128 * 2 ** 20;

function buffered({ sharedBuffersBytes: bytes }: ServerFacts): Finding | undefined {
  if (bytes >= LEAST_BUFFERS) return undefined;
  const message = `shared_buffers is ${size(bytes)}: pages of a large import are written and reread many times`;
  return warning(NAME, message, "Set it to a quarter of the machine's memory, and restart PostgreSQL.");
}

/** PostgreSQL's default. The count of requested checkpoints says less: backups and CREATE DATABASE request them too. */
const LEAST_WAL = 2 ** 30;

function walled({ maxWalBytes: bytes }: ServerFacts): Finding | undefined {
  if (bytes >= LEAST_WAL) return undefined;
  const message = `max_wal_size is ${size(bytes)}: a large import causes many checkpoints and full-page writes`;
  return warning(NAME, message, 'Set max_wal_size = 4GB, and reload PostgreSQL.');
}

/** The most connections that all pools of one process open together, by where the queue is. */
const CONNECTIONS = { redis: { api: 21, worker: 18 }, postgres: { api: 27, worker: 42 } };

/** @param workers number of worker processes, as far as known */
export function judgeConnections(
  { max }: PostgresFacts['connections'],
  { backend, workers }: { backend: 'redis' | 'postgres'; workers: number },
): Finding[] {
  const { api, worker } = CONNECTIONS[backend];
  const wanted = api + workers * worker;
  if (wanted <= max) return [];
  const message = `an API and ${many(workers, 'worker')} may open ${wanted} connections, but only ${max} are allowed`;
  return [warning(NAME, message, `Set max_connections = ${Math.ceil(wanted / 50) * 50 + 50}, or run fewer processes.`)];
}
