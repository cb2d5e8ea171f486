import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../errors.ts';
import { MIGRATION_MS } from './client.ts';
import { sqlState } from './faults.ts';
import { type Db, type Pool, transaction } from './pool.ts';

/**
 * Builds the indexes of migrations that consist of one `create index concurrently`, and drops those of `drop index
 * concurrently`, after all other migrations.
 *
 * Such a statement cannot be part of a transaction. Users are written while it runs, also for minutes on a large table.
 *
 * Guarantee: one process builds; the others wait until it is done or gone. They ask again and again and do not wait for
 * the lock: a statement that waits has a snapshot, and the build waits for all older snapshots.
 * On crash: an incomplete index is dropped and built again by the next process.
 */

/** "MUSI" as bytes. */
const LOCK2 = 0x4d555349;
const PAUSE_MS2 = 500;
const CONCURRENTLY = /^(?:create (?:unique )?index concurrently if not|drop index concurrently if) exists (\w+)/m;

export interface IndexMigration {
  id: number;
  text: string;
  checksum: string;
}

/** The name of the index that a migration builds or drops concurrently; undefined for any other migration. */
export function concurrentIndex(text: string): string | undefined {
  return CONCURRENTLY.exec(text)?.[1];
}

/** Applies what is missing, in order; any number of processes may call it at once. */
export async function buildIndexes(pool: Pool, migrations: readonly IndexMigration[]): Promise<void> {
  while ((await missing(pool, migrations)).length > 0) {
    if (!(await buildAlone(pool, migrations))) await sleep(PAUSE_MS2);
  }
}

/** @returns false while another process builds */
async function buildAlone(pool: Pool, migrations: readonly IndexMigration[]): Promise<boolean> {
  const db = await pool.connect();
  try {
    const { rows } = await db.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [LOCK2]);
    if (!rows[0]?.mine) return false;
    for (const migration of await missing(db, migrations)) await build(db, migration);
    return true;
  } finally {
    // Ends the session, and so its lock.
    db.release(true);
  }
}

async function missing(db: Db, migrations: readonly IndexMigration[]): Promise<IndexMigration[]> {
  const { rows } = await db.query<{ id: number }>('select id from migrations where id = any($1::integer[])', [
    migrations.map(({ id }) => id),
  ]);
  return migrations.filter(({ id }) => !rows.some((row) => row.id === id));
}

async function build(db: Db, { id, text, checksum }: IndexMigration): Promise<void> {
  const name = concurrentIndex(text) as string;
  const { rowCount } = await db.query('select from pg_index where indexrelid = to_regclass($1) and not indisvalid', [
    name,
  ]);
  if (rowCount) await db.query(`drop index concurrently if exists ${name}`);
  await db.query(text);
  await db.query('insert into migrations (id, checksum) values ($1, $2)', [id, checksum]);
}

/**
 * Brings the database to the newest schema.
 *
 * Duty: apply `migrations/NNN_name.sql` in order, forward only, all in one transaction under an advisory lock; after
 * that, the indexes that are built concurrently (build-indexes.ts). A file must never change after it was applied: its
 * checksum is stored, and an edited file is rejected. Numbers may have gaps and are not reused.
 *
 * Guarantee: processes that are at work wait for a migration for seconds at most. A lock on a table keeps everybody
 * else waiting while it waits itself for a long transaction, such as an upload; so it gives up soon, and tries again.
 * On crash: nothing is changed. A second process waits for the lock and then finds nothing to do.
 */

const FOLDER = new URL('./migrations/', import.meta.url);
/** "MUST" as bytes. */
const LOCK = 0x4d555354;
/** How long a statement of a migration waits for a lock, and others wait behind it. */
const LOCK_MS = 2000;
const PAUSE_MS = 1000;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Applies the missing migrations; any number of processes may call it at once.
 * @throws Error when the database is newer than this program or is not UTF8, or a file was edited after it was applied
 */
export async function migrate(pool: Pool): Promise<void> {
  const files = await readMigrations();
  await migrateTables(pool, files);
  await buildIndexes(
    pool,
    files.filter(({ text }) => concurrentIndex(text)),
  );
}

async function migrateTables(pool: Pool, files: Migration[]): Promise<void> {
  const end = performance.now() + MIGRATION_MS;
  for (;;) {
    try {
      return await migrateOnce(pool, files);
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE || performance.now() > end) throw error;
    }
    await sleep(PAUSE_MS);
  }
}

async function migrateOnce(pool: Pool, files: Migration[]): Promise<void> {
  await transaction(pool, async (db) => {
    await db.query(`set local lock_timeout = ${LOCK_MS}`);
    await db.query('select pg_advisory_xact_lock($1)', [LOCK]);
    await requireUtf8(db);
    await db.query(
      'create table if not exists migrations (id integer primary key, applied_at timestamptz not null default now())',
    );
    // The column `checksum` exists only since migration 016.
    const { rows } = await db.query<Applied>(`select id, to_jsonb(m) ->> 'checksum' as checksum from migrations m`);
    refuseNewer(files, rows);
    refuseEdited(files, rows);
    await applyMissing(db, files, rows);
  });
}

/** The newest applied migration (0 in an empty database), and the newest one that this program has. */
export async function migrationState(db: Db): Promise<{ applied: number; known: number }> {
  const known = Math.max(...(await migrationFiles()).map(numberOf));
  const { rows: tables } = await db.query<{ oid: string | null }>(`select to_regclass('migrations') as oid`);
  if (!tables[0]?.oid) return { applied: 0, known };
  const { rows } = await db.query<{ applied: number }>('select coalesce(max(id), 0) as applied from migrations');
  return { applied: rows[0]?.applied ?? 0, known };
}

async function migrationFiles(): Promise<string[]> {
  return (await readdir(FOLDER)).filter((f) => f.endsWith('.sql')).sort();
}

function numberOf(file: string): number {
  return Number.parseInt(file, 10);
}

interface Applied {
  id: number;
  checksum: string | null;
}

interface Migration {
  id: number;
  file: string;
  text: string;
  checksum: string;
}

async function readMigrations(): Promise<Migration[]> {
  return Promise.all(
    (await migrationFiles()).map(async (file) => {
      const text = await readFile(new URL(file, FOLDER), 'utf8');
      return { id: numberOf(file), file, text, checksum: checksumOf(text) };
    }),
  );
}

/** Uses Unix line ends, as a checkout may have others. */
function checksumOf(text: string): string {
  return createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex');
}

function refuseNewer(files: Migration[], applied: Applied[]): void {
  const newest = Math.max(...files.map(({ id }) => id));
  const unknown = applied.find(({ id }) => id > newest);
  if (unknown) throw newerSchema(unknown.id, newest);
}

/** @param applied a migration of the database @param known the newest one that this program has */
export function newerSchema(applied: number, known: number): StartError {
  return new StartError(
    `The database has migration ${applied}, but this program knows only up to ${known}: start the newer program.`,
  );
}

function refuseEdited(files: Migration[], applied: Applied[]): void {
  const checksums = new Map(applied.map(({ id, checksum }) => [id, checksum]));
  const edited = files.find(({ id, checksum }) => (checksums.get(id) ?? checksum) !== checksum);
  if (edited) {
    throw new StartError(
      `The migration ${edited.file} was edited after it was applied to this database. Restore the file, and put the change into a new migration.`,
    );
  }
}

async function applyMissing(db: Db, files: Migration[], applied: Applied[]): Promise<void> {
  const done = new Set(applied.map(({ id }) => id));
  const missing = files.filter(({ id, text }) => !done.has(id) && !concurrentIndex(text));
  for (const { id, text } of missing) {
    await db.query(text);
    await db.query('insert into migrations (id) values ($1)', [id]);
  }
  if (missing.length === 0 && applied.every(({ checksum }) => checksum !== null)) return;
  await db.query(
    `update migrations m set checksum = f.checksum from unnest($1::integer[], $2::text[]) as f (id, checksum)
     where f.id = m.id and m.checksum is null`,
    [files.map(({ id }) => id), files.map(({ checksum }) => checksum)],
  );
}

async function requireUtf8(db: Db): Promise<void> {
  const { rows } = await db.query<{ encoding: string }>(
    'select pg_encoding_to_char(encoding) as encoding from pg_database where datname = current_database()',
  );
  if (rows[0]?.encoding !== 'UTF8')
    throw new StartError(`The database's encoding is ${rows[0]?.encoding}; it must be UTF8.`);
}
