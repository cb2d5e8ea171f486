/**
 * A separate migrated database for each test file or test.
 *
 * `npm test` starts one server for the whole run (TEST_DATABASE_URL); a file that runs alone starts its own. The schema
 * is created once per server, in a template from which databases are cloned. Nothing here keeps the process alive:
 * pools, the server and remaining databases are removed when the tests end.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { chown, rm } from 'node:fs/promises';
import pg from 'pg';
import { migrateQueue } from '../../../src/imports/queue/schema.ts';
import { postgresAccount } from '../../../src/platform/db/embedded/cluster.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/platform/db/embedded/embedded.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { PatientPool, type Pool } from '../../../src/platform/db/pool.ts';
import { waitFor } from '../wait.ts';
import { copyCluster, newFolder } from './cluster-cache.ts';
import { abandonLocks } from './locks.ts';

/** Tests need no durability, except those that start their own server. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '500',
  // Each new or removed database means a look at all of them.
  shared_buffers: '128MB',
  max_wal_size: '256MB',
};

/** Starts a server in a new folder, which `stop` removes. */
export async function startTestServer(): Promise<EmbeddedPostgres> {
  const dataDir = await newFolder();
  const removeFolder = () => rm(dataDir, { recursive: true, force: true });
  const start = async () => {
    await copyCluster(dataDir, makeCluster);
    return startEmbeddedPostgres({ dataDir, settings: SETTINGS, background: true });
  };
  const server = await start().catch(async (error) => {
    await removeFolder();
    throw error;
  });
  return {
    url: server.url,
    socketDir: server.socketDir,
    pid: server.pid,
    async stop() {
      await server.stop();
      await removeFolder();
    },
  };
}

/** Creates the files of a server that already has the template. */
async function makeCluster(dataDir: string): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir, settings: SETTINGS });
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  pool.on('error', () => {}); // the server stops while the pool closes
  await ensureTemplate(pool, server.url);
  await pool.end();
  await server.stop();
}

export interface TestDatabase {
  url: string;
  pool: Pool;
  /** Ends the pool and drops the database, closing all remaining connections. */
  drop(): Promise<void>;
}

/** Much faster where a checkpoint need not wait for the disk. */
const CLONE = process.env.TEST_OWN_POSTGRES === 'distribution' ? '' : 'strategy file_copy';
let admin: Promise<Pool> | undefined;
let template: Promise<string> | undefined;
const cleanups = new Set<() => Promise<void>>();

// node:test runs hooks in the order of registration, so one registered here would run before those of the tests.
process.once('beforeExit', async () => {
  for (const clean of [...cleanups].reverse()) await clean();
});

/**
 * Clones the template.
 * @param t gives the database a readable name
 * @param folder for the files of the database; it must be empty. Default: the server's
 */
export async function testDatabase(t?: { name: string }, folder?: string): Promise<TestDatabase> {
  admin ??= openAdmin();
  const server = await admin;
  template ??= ensureTemplate(server, serverUrl);
  const label = (t?.name ?? '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 30);
  const name = `test_${label}_${randomBytes(5).toString('hex')}`;
  const place = folder === undefined ? '' : `tablespace ${await makeTablespace(server, name, folder)}`;
  await withCheckpoint(server, `create database ${name} template ${await template} ${CLONE} ${place}`);
  const url = withDatabase(serverUrl, name);
  const pool = new PatientPool({
    connectionString: url,
    max: 10,
    allowExitOnIdle: true,
  });
  pool.on('error', () => {});
  const drop = async () => {
    if (!cleanups.delete(drop)) return;
    abandonLocks(pool);
    await pool.end();
    await withCheckpoint(server, `drop database if exists ${name} with (force)`);
    if (place !== '') await server.query(`drop tablespace ${name}`);
  };
  cleanups.add(drop);
  return { url, pool, drop };
}

/** Runs a statement that needs a checkpoint, which fails while another test has filled its disk (small-disk.ts). */
async function withCheckpoint(server: Pool, sql: string): Promise<void> {
  await server.query(sql).catch(async (error: Error) => {
    if (!error.message.includes('checkpoint request failed')) throw error;
    await waitFor(() => server.query('checkpoint'), { what: 'a checkpoint' });
    await server.query(sql);
  });
}

/** A tablespace must belong to the user that the server runs as. */
async function makeTablespace(server: Pool, name: string, folder: string): Promise<string> {
  const account = await postgresAccount(folder);
  if (account) await chown(folder, account.uid, account.gid);
  await server.query(`create tablespace ${name} location '${folder}'`);
  return name;
}

let serverUrl = process.env.TEST_DATABASE_URL ?? '';

async function openAdmin(): Promise<Pool> {
  if (!serverUrl) {
    const own = await startTestServer();
    serverUrl = own.url;
    cleanups.add(() => own.stop());
  }
  const pool = new PatientPool({
    connectionString: serverUrl,
    max: 2,
    allowExitOnIdle: true,
  });
  pool.on('error', () => {});
  cleanups.add(() => pool.end());
  return pool;
}

/** Test files run in parallel: the first one creates the template, the others wait for it. */
async function ensureTemplate(server: Pool, url: string): Promise<string> {
  const name = `template_${schemaHash()}`;
  const client = await server.connect();
  try {
    await client.query('select pg_advisory_lock(42)');
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (rowCount === 0) await makeTemplate(client, url, name);
  } finally {
    await client.query('select pg_advisory_unlock(42)').finally(() => client.release());
  }
  return name;
}

/** The template is renamed when complete, so that no test sees a partial one. */
async function makeTemplate(client: pg.PoolClient, url: string, name: string): Promise<void> {
  const draft = `draft_${randomBytes(5).toString('hex')}`;
  await client.query(`create database ${draft}`);
  const pool = new pg.Pool({
    connectionString: withDatabase(url, draft),
    max: 3,
  });
  await migrate(pool);
  await migrateQueue(pool);
  await pool.end();
  await client.query(`alter database ${draft} rename to ${name}`);
}

/** A server that keeps running, or the cache of another version, may have the template of an older schema. */
function schemaHash(): string {
  const folder = new URL('../../../src/platform/db/migrations/', import.meta.url);
  const hash = createHash('sha256');
  for (const file of readdirSync(folder).sort()) hash.update(readFileSync(new URL(file, folder)));
  return hash.digest('hex').slice(0, 12);
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.toString();
}
