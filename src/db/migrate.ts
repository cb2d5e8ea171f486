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
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../start-error.ts';
import { buildIndexes, concurrentIndex } from './build-indexes.ts';
import { MIGRATION_MS } from './limits.ts';
import { type Db, type Pool, transaction } from './pool.ts';
import { sqlState } from './sqlstates.ts';

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
