/**
 * `large-database`: searches of users, and an import, in a database of 20 million users in 2,002 organizations, on the
 * PostgreSQL of the machine's distribution with its default settings; the embedded one where there is none.
 *
 * Searches take turns on an otherwise idle service; the value is the 99th percentile of the slowest kind, and the
 * ceiling 50 ms. The import's ceiling is the same import before the users are there. Both must hardly depend on the
 * number of users, so no statement may scan the table: rows that sequential scans read are counted.
 */
import type pg from 'pg';
import type { Pool } from '../../src/platform/db/pool.ts';
import { type Context, percentile, perSecond, type Result, rounded, timed } from '../bench.ts';
import { cpuPerUnit, cpuTime, hasProc } from '../machine/cpu.ts';
import type { Client } from '../testbed/client.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody, user, userId } from '../testbed/load.ts';
import { distributionPrograms, redisVersion } from '../testbed/stores.ts';
import { type Service, type Stores, startService, startStores } from '../testbed/testbed.ts';

const USERS = 20_000_000;
const ORGS = 2002;
const CALLS = 100;
const IMPORT = 60_000;
const TARGET_MS = 50;
const SETTINGS = { RATE_LIMIT_REQUESTS: '1000000' };
const KNOWN = 50;
const MB = 1_000_000;
/** Rows of one statement that fills the table. */
const SLICE = 500_000;
const LARGEST = 'planted-0';
/** Every so many-th user is in the largest organization. */
const LARGEST_EVERY = 20;

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

/** A search as applications send it, with other values from call to call. */
interface Search {
  queries: object[];
  limit?: number;
  /** Measure the second page, by the token of the first. */
  second?: true;
}

const org = (organizationId: string) => ({ organizationIdQuery: { organizationId } });
const state = (name: string) => ({ stateQuery: { state: `USER_STATE_${name}` } });
const prefix = (userName: string) => ({ userNameQuery: { userName, method: 'TEXT_QUERY_METHOD_STARTS_WITH' } });
const LETTERS = ['ann', 'björn', 'chloé', 'dmitri', 'elif', 'fatima', 'giulia', 'hiroshi', 'ines'];

/** Someone who is in the table. */
interface Known {
  id: string;
  name: string;
  email: string;
}

/** @param n the number of the call @param orgIds of the planted organizations */
function searches(n: number, orgIds: string[], known: Known): Record<string, Search> {
  const some = orgIds[(n * 7919) % orgIds.length] as string;
  const first = prefix(`${LETTERS[n % LETTERS.length]}.`);
  return {
    'all users': { queries: [] },
    'all users, by token': { queries: [], second: true },
    'an organization': { queries: [org(some)] },
    'the largest organization': { queries: [org(LARGEST)] },
    'the largest organization, by token': { queries: [org(LARGEST)], second: true },
    'the largest organization, 1,000 a page': { queries: [org(LARGEST)], limit: 1000 },
    'the largest organization and a state': { queries: [org(LARGEST), state('INACTIVE')] },
    'an organization, a prefix and a state': { queries: [org(some), first, state('ACTIVE')] },
    'a prefix': { queries: [first] },
    'a state': { queries: [state('LOCKED')] },
    'an id': { queries: [{ inUserIdsQuery: { userIds: [known.id] } }] },
    'an address': { queries: [{ emailQuery: { emailAddress: known.email } }] },
    'a login name': { queries: [{ loginNameQuery: { loginName: known.name } }] },
  };
}

/** Milliseconds of `calls` searches of each kind, taking turns. */
async function timeSearches(
  client: Client,
  orgIds: string[],
  known: Known[],
  calls: number,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>();
  for (let n = 0; n < calls; n++) {
    const kinds = searches(n, orgIds, known[n % known.length] as Known);
    for (const [kind, { queries, limit = 100, second }] of Object.entries(kinds)) {
      const query = { limit, asc: true };
      const search = (pageToken?: string) =>
        client.call('POST', '/v2beta/users', { query: { ...query, ...(pageToken ? { pageToken } : {}) }, queries });
      const token = second ? (await search()).nextPageToken : undefined;
      const ms = await timed(() => search(token));
      times.set(kind, [...(times.get(kind) ?? []), ms]);
    }
  }
  return times;
}

interface Planted {
  orgIds: string[];
  /** Bytes of the table and of all its indexes. */
  tableBytes: number;
  indexBytes: number;
}

/**
 * Fills the table of users without importing them: 20 million in some minutes. Names are spread like those of the
 * imported users (testbed/load.ts), ids ascend. A twentieth of all users are in one organization; the others are in
 * organizations of very different sizes. One in a thousand is inactive, one in a thousand locked. The table has its
 * indexes then, and is vacuumed and analyzed.
 * @param say is told after each part
 */
async function plantUsers(pool: Pool, users: number, orgs: number, say: (line: string) => void): Promise<Planted> {
  const client = await pool.connect();
  try {
    // Leaves out triggers and the checks of foreign keys for this session.
    await client.query(`set session_replication_role = replica; set synchronous_commit = off;
      set maintenance_work_mem = '1GB'`);
    await client.query(
      `insert into organizations (id, name, primary_domain, sequence)
       select 'planted-' || n, 'Planted ' || n, 'planted-' || n || '.localhost', 1 from generate_series(0, $1 - 1) n`,
      [orgs],
    );
    const indexes = await dropIndexes(client);
    for (let from = 0; from < users; from += SLICE) {
      await client.query(INSERT, [from, Math.min(users, from + SLICE) - 1, orgs]);
      say(`${Math.min(users, from + SLICE)} of ${users} users are in the table`);
    }
    for (const definition of indexes) await client.query(definition);
    say('the indexes are built');
  } finally {
    client.release(true);
  }
  await pool.query('vacuum (analyze) users');
  const { rows } = await pool.query<{ table: string; index: string }>(
    `select pg_table_size('users') as table, pg_indexes_size('users') as index`,
  );
  const orgIds = Array.from({ length: orgs }, (_, n) => `planted-${n}`);
  return { orgIds, tableBytes: Number(rows[0]?.table), indexBytes: Number(rows[0]?.index) };
}

/** The primary key stays, as other tables refer to it. @returns the statements that make the indexes again */
async function dropIndexes(client: pg.PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
     from pg_index i where i.indrelid = 'users'::regclass and not i.indisprimary`,
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows.map(({ definition }) => definition);
}

// `h` spreads consecutive numbers over 32 bits without collisions, and `u` from 0 to 1: most are in few organizations.
const INSERT = `
  insert into users (id, org_id, kind, state, user_name, user_name_key, given_name, family_name, display_name, gender,
    preferred_language, email, email_key, email_verified, password_hash, sequence)
  select '3918' || lpad(n::text, 14, '0'),
    'planted-' || case when n % ${LARGEST_EVERY} = 0 then 0 else 1 + floor(($3 - 1) * power(h / 4294967296.0, 3))::int end,
    'human', (case n % 1000 when 501 then 'inactive' when 502 then 'locked' else 'active' end)::user_state,
    name, name, first, last, first || ' ' || last, 0, 'en', name || '@example.com', name || '@example.com', true,
    '$2b$10$IfSlTo7OqxZvHScBBuhzWumWsn0zgTB/evCQe7/85MstRv5xyyBIe', 1
  from (
    select n, h, first, last, first || '.' || last || '.' || to_hex(h) as name
    from (select n, h,
        (array['ann', 'björn', 'chloé', 'dmitri', 'elif', 'fatima', 'giulia', 'hiroshi', 'ines'])[1 + h % 9] as first,
        (array['smith', 'müller', 'novák', 'garcía', 'okafor', 'tanaka', 'rossi'])[1 + (h >> 8) % 7] as last
      from (select n, (n * 2654435761) & 4294967295 as h from generate_series($1::bigint, $2::bigint) n) numbers) names
  ) planted`;
