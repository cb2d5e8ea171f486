/**
 * `large-database`: searches of users, and an import, in a database of 20 million users in 2,002 organizations, on the
 * PostgreSQL of the machine's distribution with its default settings; the embedded one where there is none.
 *
 * Searches take turns on an otherwise idle service; the value is the 99th percentile of the slowest kind, and the
 * ceiling 50 ms. The import's ceiling is the same import before the users are there. Both must hardly depend on the
 * number of users, so no statement may scan the table: rows that sequential scans read are counted.
 */
import { type Context, percentile, perSecond, type Result, rounded } from '../bench.ts';
import { distributionPrograms } from '../distribution.ts';
import { cpuPerUnit, cpuTime, hasProc } from '../machine/cpu.ts';
import { type Known, timeSearches } from '../measure/searches.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody, user, userId } from '../testbed/load.ts';
import { type Planted, plantUsers } from '../testbed/plant-users.ts';
import { redisVersion } from '../testbed/redis.ts';
import { type Service, type Stores, startService, startStores } from '../testbed/testbed.ts';

const USERS = 20_000_000;
const ORGS = 2002;
const CALLS = 100;
const IMPORT = 60_000;
const TARGET_MS = 50;
const SETTINGS = { RATE_LIMIT_REQUESTS: '1000000' };
const KNOWN = 50;
const MB = 1_000_000;

export async function largeDatabase(context: Context): Promise<Result[]> {
  const { scope, say, users = USERS, workers } = context;
  const programs = await distributionPrograms();
  const stores = await startStores(scope, {
    redis: redisVersion() !== undefined,
    ...(programs ? { programs } : { tcp: true }),
  });
  const service = await startService(scope, stores, Math.max(1, workers), SETTINGS);
  const imported = Math.min(IMPORT, Math.max(10, Math.round(users / 100)));
  await proveReady(service, 3 * imported);
  const small = await importOnce(stores, service, imported, 0);
  const planted = await plantUsers(stores.pool, users, Math.min(ORGS, users), (line) => say(`large-database: ${line}`));
  const known = await someUsers(stores);
  const calls = users < USERS ? Math.min(CALLS, 10) : CALLS;
  await timeSearches(service.client, planted.orgIds, known, 2);
  const scanned = await scannedRows(stores);
  const times = await timeSearches(service.client, planted.orgIds, known, calls);
  const large = await importOnce(stores, service, imported, imported);
  const scans = (await scannedRows(stores)) - scanned;
  return [
    searchResult(times, { users, calls, planted, server: stores.server?.version, scans }),
    importResult(small, large),
  ];
}

interface Imported {
  users: number;
  perSecond: number;
  /** Microseconds of PostgreSQL's processor time per user. */
  postgresCpu: number | undefined;
}

/** @param from the number of its first user */
async function importOnce(stores: Stores, service: Service, users: number, from: number): Promise<Imported> {
  const { postgres = [] } = stores.roles();
  const body = importBody(users, service.orgId, (n) => ({ userId: userId(from + n), user: user(from + n) }));
  const before = hasProc() ? cpuTime({ postgres }) : undefined;
  const { ms } = await importAll(service, body, users, { lastId: userId(from + users - 1) });
  const postgresCpu = before && cpuPerUnit(before, cpuTime({ postgres }), users).postgres;
  return { users, perSecond: perSecond(users, ms), postgresCpu };
}

async function someUsers({ pool }: Stores): Promise<Known[]> {
  const { rows } = await pool.query<Known>(
    `select id, user_name as name, email from users tablesample system (0.1) where email is not null limit $1`,
    [KNOWN],
  );
  if (rows.length > 0) return rows;
  return (await pool.query<Known>('select id, user_name as name, email from users where email is not null limit 1'))
    .rows;
}

/** Rows of users that sequential scans have read so far. */
async function scannedRows({ pool }: Stores): Promise<number> {
  const { rows } = await pool.query<{ n: string }>(
    `select seq_tup_read as n from pg_stat_user_tables where relname = 'users'`,
  );
  return Number(rows[0]?.n);
}

interface About {
  users: number;
  calls: number;
  planted: Planted;
  server: string | undefined;
  scans: number;
}

function searchResult(times: Map<string, number[]>, { users, calls, planted, server, scans }: About): Result {
  const at = (ms: number[], p: number) => rounded(percentile(ms, p), 1);
  const kinds = [...times].map(([kind, ms]) => ({ kind, p50: at(ms, 0.5), p99: at(ms, 0.99) }));
  const value = Math.max(...kinds.map(({ p99 }) => p99));
  const tableMb = Math.round(planted.tableBytes / MB);
  const indexMb = Math.round(planted.indexBytes / MB);
  const notes = [
    `p99 of the slowest kind of search, ${calls} calls each; ${users} users, PostgreSQL ${server ?? 'embedded'}; less is better`,
    ...kinds.map(({ kind, p50, p99 }) => `${kind}: p50 ${p50} ms, p99 ${p99} ms`),
    `users: ${tableMb} MB, their indexes ${indexMb} MB; sequential scans read ${scans} rows of them`,
  ];
  const extras = { users, calls, kinds, tableMb, indexMb, scannedRows: scans, server };
  return {
    name: 'large-search',
    value,
    unit: 'ms',
    ceiling: TARGET_MS,
    ratio: rounded(value / TARGET_MS, 3),
    notes,
    extras,
  };
}

function importResult(small: Imported, large: Imported): Result {
  const cpu = (of: Imported) => (of.postgresCpu === undefined ? undefined : rounded(of.postgresCpu, 1));
  const notes = [
    `import of ${large.users} users beside the others; ceiling: the same before they were there`,
    ...(hasProc() ? [`PostgreSQL's CPU µs per user: ${cpu(large)}, before ${cpu(small)}`] : []),
  ];
  const { perSecond: value } = large;
  const ceiling = small.perSecond;
  const extras = { users: large.users, postgresCpu: cpu(large), postgresCpuBefore: cpu(small) };
  return { name: 'large-import', value, unit: 'users/s', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}
