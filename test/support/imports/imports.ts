/**
 * Imports for tests below HTTP: bodies, acceptance, the rows of an import in any state, and a queue that only records.
 */
import type { Caller } from '../../../src/contract/permissions.ts';
import { DataOrgsParser } from '../../../src/imports/entries/data-orgs.ts';
import type { ImportDeps, ImportOptions } from '../../../src/imports/entries/options.ts';
import { receiveImport } from '../../../src/imports/intake/intake.ts';
import type { JobToAdd, Queues } from '../../../src/imports/queue/queues.ts';
import { WRITER_SESSION } from '../../../src/imports/run/write-batch.ts';
import { reportWorker } from '../../../src/imports/status/workers.ts';
import { readConfig } from '../../../src/platform/config.ts';
import { openPool, type Pool } from '../../../src/platform/db/pool.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';

export const SECRETS = openSecrets(Buffer.alloc(32, 7).toString('base64'));
export const ADMIN: Caller = { userId: 'admin', orgId: 'home', isIamOwner: true, orgRoles: new Map() };
/** A bcrypt hash of `secret`. */
export const HASH = '$2b$04$7dJ3oGrugpNa9ehEuDgAduCifOSXx3xu9QwRL9i7yBhIgwDExuFwy';

export async function addOrgs(pool: Pool, ...ids: string[]): Promise<void> {
  await pool.query(
    `insert into organizations (id, name, primary_domain, sequence)
     select id, id, 'o' || md5(id) || '.localhost', 1 from unnest($1::text[]) as id`,
    [ids],
  );
}

/** Makes ADMIN a user of the organization `org`, for what checks the stored rights of its caller. */
export async function addAdmin(pool: Pool): Promise<void> {
  await pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
     values ('admin', 'org', 'machine', 'active', 'admin', 'admin', 1)`,
  );
  await pool.query(`insert into instance_members (user_id, roles, sequence) values ('admin', '{IAM_OWNER}', 1)`);
}

/** A pool with the same settings as that of the batch writer. */
export function openWriterPool(url: string, max = 4): Pool {
  return openPool(url, { max, name: 'test-writer', settings: WRITER_SESSION });
}

/** Removes everything except organizations. */
export async function wipe(pool: Pool): Promise<void> {
  await pool.query(
    'delete from users; delete from removed_users; delete from removed_user_ids; delete from events; delete from imports; delete from import_items; delete from workers',
  );
}

/** A worker that runs the version before migration 219, and has told so `secondsAgo`. It does nothing. */
export async function addOldWorker(pool: Pool, secondsAgo = 0): Promise<void> {
  const own = { id: 'old', host: 'h', pid: 1, version: '1.0.0', schema: 218, backend: 'redis', shards: 1 } as const;
  const state = { isStopping: false, importJobs: 0, mailJobs: 0, usersPerSecond: 0, failing: [] };
  await reportWorker(pool, { ...own, roles: ['import'] }, state, 100);
  await pool.query(`update workers set seen_at = now() - $1 * interval '1 second' where id = 'old'`, [secondsAgo]);
}

export interface Entry {
  userId?: string;
  state?: string | undefined;
  user: Record<string, unknown> & { email: Record<string, unknown> };
}

/** A valid entry with a verified address and a hash, so that no mail is due; `user` replaces fields. */
export function entry(
  name: string,
  user: Record<string, unknown> = {},
  outer: { state?: string | undefined } = {},
): Entry {
  return {
    userId: `id-${name}`,
    ...outer,
    user: {
      userName: name,
      profile: { firstName: 'Ann', lastName: 'Arbor' },
      email: { email: `${name}@example.com`, isEmailVerified: true },
      hashedPassword: { value: HASH },
      ...user,
    },
  };
}

export function entries(count: number, user: Record<string, unknown> = {}): Entry[] {
  return Array.from({ length: count }, (_, i) => entry(`u${i}`, user));
}

export interface QueueLog extends Queues {
  /** The ids of all added jobs, in order, including repeated ones. */
  added: string[];
  /** Those of them that jump the queue. */
  urgent: string[];
}

/** A queue that records jobs and does nothing with them; `refuse` makes it fail. */
export function queueLog(refuse: () => boolean = () => false): QueueLog {
  const added: string[] = [];
  const urgent: string[] = [];
  return {
    kind: 'redis',
    shards: 1,
    added,
    urgent,
    async add(_, jobs: JobToAdd<unknown>[]) {
      if (refuse()) throw new Error('the queue is unavailable');
      added.push(...jobs.map((j) => j.id));
      urgent.push(...jobs.filter((j) => j.urgent).map((j) => j.id));
    },
    depth: async () => added.length,
    workers: async () => 0,
    check: async () => {},
    async drop() {
      added.length = 0;
    },
    work: () => ({ limit() {}, inProgress: () => 0, stop: async () => {} }),
    close: async () => {},
  };
}

export function importDeps(pool: Pool, env: Record<string, string> = {}): ImportDeps {
  return { pool, config: readConfig(env), secrets: SECRETS, queues: queueLog() };
}

export interface AcceptOptions {
  orgId?: string;
  timeout?: unknown;
  strict?: boolean;
  special?: ImportOptions;
  caller?: Caller | undefined;
  /** Settings that override the defaults, as environment variables. */
  env?: Record<string, string> | undefined;
  /** The number of bytes in each chunk. */
  chunk?: number;
  /** Parses every entry. */
  withoutFastPath?: boolean;
}

/** Receives a whole body, as text or value, as the bulk import does; returns the import's id. */
export async function acceptBody(pool: Pool, body: unknown, options: AcceptOptions = {}): Promise<string> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const { strict = false, special, withoutFastPath } = options;
  const how = { parser: new DataOrgsParser(), strict, special, withoutFastPath };
  return receiveImport(
    importDeps(pool, options.env),
    options.caller ?? ADMIN,
    cut(bytes, options.chunk ?? 65_536),
    how,
  );
}

export async function* cut(bytes: Buffer, size: number): AsyncIterable<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Receives entries for one organization. */
export function acceptImport(pool: Pool, humanUsers: unknown[], options: AcceptOptions = {}): Promise<string> {
  const { orgId = 'org', timeout = '1h' } = options;
  return acceptBody(pool, { dataOrgs: { orgs: [{ orgId, humanUsers }] }, timeout }, options);
}

/**
 * Overwrites columns of an import, for states that would take long to reach. Values are SQL: `now() - interval '1h'`.
 */
export async function setImport(pool: Pool, importId: string, columns: Record<string, string>): Promise<void> {
  const list = Object.entries(columns).map(([name, sql]) => `${name} = ${sql}`);
  await pool.query(`update imports set ${list.join(', ')} where id = $1`, [importId]);
}

// biome-ignore lint/suspicious/noExplicitAny: rows as the test selects them
export type Row = Record<string, any>;

export async function importRow(pool: Pool, importId: string): Promise<Row> {
  const { rows } = await pool.query('select * from imports where id = $1', [importId]);
  return rows[0] as Row;
}

/** The import's items in body order. */
export async function itemRows(pool: Pool, importId: string): Promise<Row[]> {
  return (await pool.query('select * from import_items where import_id = $1 order by ordinal', [importId])).rows;
}

/** The stable id of an item's error. */
export function errorIdOf(item: Row | undefined): string | undefined {
  return item?.error?.details[0].id;
}

/** The number of rows in each table that a batch writes. */
export async function tableCounts(pool: Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query(`select
    (select count(*)::int from users where kind = 'human') as users, (select count(*)::int from history where aggregate_type = 'user') as events,
    (select count(*)::int from metadata) as metadata, (select count(*)::int from user_idp_links) as links,
    (select count(*)::int from codes) as codes, (select count(*)::int from mail_outbox) as mails`);
  return rows[0];
}

/** Whether a statement of the batch writer waits for the lock of another session. */
export async function writerWaits(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query(
    `select from pg_stat_activity
     where application_name = 'test-writer' and wait_event_type = 'Lock' and datname = current_database()`,
  );
  return rows.length > 0;
}
