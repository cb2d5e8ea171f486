/**
 * Brings the database to the newest schema.
 *
 * Duty: apply `migrations/NNN_name.sql` in order, forward only, all in one transaction under an advisory lock; after
 * that, build the indexes of migrations that consist of one `create index concurrently`, which cannot be part of a
 * transaction. Before a migration that uses the values that it adds to a type, the transaction ends with these values, as
 * PostgreSQL uses only committed ones. A file must never change after it was applied: its checksum is stored, and an edited file is refused.
 * Numbers may have gaps and are not reused.
 *
 * Guarantee: other processes wait for a migration for seconds at most. A statement that waits for a lock on a table
 * keeps all others waiting behind it; so it gives up soon, and the migration begins again.
 * A database that has this schema is only read, so the right to change the schema is needed for migrating only.
 * On crash: nothing of the transaction is left but values that nobody uses yet, and an incomplete index is dropped and built again by the next process.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../errors.ts';
import { MIGRATION_MS } from './client.ts';
import { sqlState } from './faults.ts';
import { type Db, type Pool, transaction } from './pool.ts';
import type { Migrations } from './tables.ts';

const FOLDER = new URL('./migrations/', import.meta.url);
/** The number of the file with the whole schema of version 1.0.0. */
const FIRST = 150;
/**
 * The build before 1.0.0 had 55 migrations with numbers up to FIRST, and the same schema as FIRST. This is the SHA-256 of
 * their lines `<number> <checksum>`, in order, without a line end after the last one.
 */
const TAKEN_OVER = '1a0d503a6d3784e15825a5dbc249259e9c5ee5fe5b084cb9d3b91a1f6f726a6f';

/** "MUST" as bytes: one process migrates. */
const MIGRATING = 0x4d555354;
/**
 * How long a statement of a migration waits for a lock, and others wait behind it. A request that waits for a lock of the
 * migration may hold the lock that the migration wants: a deadlock. After a second (`deadlock_timeout`) PostgreSQL would
 * end one of the two; the migration gives up long before, so that it is hardly ever the request.
 */
const LOCK_MS = 250;
const RETRY_MS = 1000;
/** Somebody else had a lock for too long, or waited for one of ours. */
const LOCKED_OUT = ['55P03', '40P01'];

/** "MUSI" as bytes: one process builds indexes. */
const BUILDING = 0x4d555349;
const BUILD_POLL_MS = 500;
const CONCURRENTLY = /^(?:create (?:unique )?index concurrently if not|drop index concurrently if) exists (\w+)/m;

/** A new value of a type that the same migration uses. */
const NEW_VALUE = /^alter type (\w+) add value if not exists '(\w+)'.*;$/gm;

interface Migration {
  id: number;
  file: string;
  text: string;
  checksum: string;
}

type Applied = Pick<Migrations, 'id' | 'checksum'>;

/**
 * Applies the missing migrations; any number of processes may call it at once.
 * @param folder other migrations than the program's: for tests
 * @throws StartError when the database is newer than this program, older than what it can take over, or not UTF8, or
 *   when a file was edited after it was applied
 */
export async function migrate(pool: Pool, folder: URL = FOLDER): Promise<void> {
  const files = await readMigrations(folder);
  await migrateTables(pool, files);
  const indexes = files.filter(({ text }) => concurrentIndex(text));
  while ((await missing(pool, indexes)).length > 0) {
    if (!(await buildAlone(pool, indexes))) await sleep(BUILD_POLL_MS);
  }
}

/** The number of the newest migration that this program has. */
export async function newestMigration(): Promise<number> {
  return Math.max(...(await migrationFiles(FOLDER)).map(numberOf));
}

/** The newest applied migration (0 in an empty database), and the newest one that this program has. */
export async function migrationState(db: Db): Promise<{ applied: number; known: number }> {
  const known = await newestMigration();
  const { rows: tables } = await db.query<{ oid: string | null }>(`select to_regclass('migrations') as oid`);
  if (!tables[0]?.oid) return { applied: 0, known };
  const { rows } = await db.query<{ applied: number }>('select coalesce(max(id), 0) as applied from migrations');
  return { applied: rows[0]?.applied ?? 0, known };
}

/** @param applied a migration of the database @param known the newest one that this program has */
export function newerSchema(applied: number, known: number): StartError {
  return new StartError(
    `The database has migration ${applied}, but this program knows only up to ${known}: start the newer program.`,
  );
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  return Promise.all(
    (await migrationFiles(folder)).map(async (file) => {
      const text = await readFile(new URL(file, folder), 'utf8');
      return { id: numberOf(file), file, text, checksum: checksumOf(text) };
    }),
  );
}

async function migrationFiles(folder: URL): Promise<string[]> {
  return (await readdir(folder)).filter((f) => f.endsWith('.sql')).sort();
}

function numberOf(file: string): number {
  return Number.parseInt(file, 10);
}

/** Uses Unix line ends, as a checkout may have others. */
function checksumOf(text: string): string {
  return createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex');
}

async function migrateTables(pool: Pool, files: Migration[]): Promise<void> {
  const end = performance.now() + MIGRATION_MS;
  for (;;) {
    try {
      let isMore = true;
      while (isMore) isMore = await migrateOnce(pool, files);
      return;
    } catch (error) {
      if (!LOCKED_OUT.includes(sqlState(error) ?? '') || performance.now() > end) throw error;
    }
    await sleep(RETRY_MS);
  }
}

/** One transaction. @returns whether another one has to follow */
async function migrateOnce(pool: Pool, files: Migration[]): Promise<boolean> {
  return transaction(pool, async (db) => {
    await db.query(`set local lock_timeout = ${LOCK_MS}`);
    await db.query('select pg_advisory_xact_lock($1)', [MIGRATING]);
    await requireUtf8(db);
    await refuseOtherSchema(db);
    await createLedger(db);
    // The first builds had no column `checksum`.
    const { rows } = await db.query<Applied>(
      `select id, to_jsonb(m) ->> 'checksum' as checksum from migrations m order by id`,
    );
    const applied = takeOver(files, rows);
    refuseNewer(files, applied);
    refuseEdited(files, applied);
    const done = new Set(applied.map(({ id }) => id));
    for (const file of files.filter(({ id, text }) => !done.has(id) && !concurrentIndex(text))) {
      if (await addValues(db, file)) return true;
      await db.query(file.text);
      await noteApplied(db, file);
    }
    return false;
  });
}

/** @returns whether there were new values to add: the migration can use them in the next transaction */
async function addValues(db: Db, { text }: Migration): Promise<boolean> {
  const values = [...text.matchAll(NEW_VALUE)];
  if (values.length === 0) return false;
  const { rows } = await db.query<{ value: string }>(
    `select t.typname || ' ' || e.enumlabel as value from pg_enum e join pg_type t on t.oid = e.enumtypid
     where t.typnamespace = 'public'::regnamespace`,
  );
  const known = new Set(rows.map(({ value }) => value));
  if (values.every(([, type, value]) => known.has(`${type} ${value}`))) return false;
  for (const [statement] of values) await db.query(statement);
  return true;
}

/** Even `create table if not exists` needs the right to create tables, which only migrating should need. */
async function createLedger(db: Db): Promise<void> {
  const { rows } = await db.query<{ oid: string | null }>(`select to_regclass('migrations') as oid`);
  if (rows[0]?.oid) return;
  await db.query(
    `create table migrations (id integer primary key, applied_at timestamptz not null default now(), checksum text)`,
  );
}

/** @returns the applied migrations, with FIRST instead of those of the build before it @throws StartError for older ones */
function takeOver(files: Migration[], applied: Applied[]): Applied[] {
  if (!applied.some(({ id }) => id < FIRST)) return applied;
  const before = applied.filter(({ id }) => id <= FIRST);
  if (checksumOf(before.map(({ id, checksum }) => `${id} ${checksum}`).join('\n')) !== TAKEN_OVER) {
    throw new StartError(
      'The database has the schema of a build before 1.0.0 that this program cannot upgrade: upgrade it with the last build before 1.0.0 first.',
    );
  }
  const first = files.find(({ id }) => id === FIRST) as Migration;
  return [first, ...applied.filter(({ id }) => id > FIRST)];
}

function refuseNewer(files: Migration[], applied: Applied[]): void {
  const newest = Math.max(...files.map(({ id }) => id));
  const unknown = applied.find(({ id }) => id > newest);
  if (unknown) throw newerSchema(unknown.id, newest);
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

async function noteApplied(db: Db, { id, checksum }: Migration): Promise<void> {
  await db.query('insert into migrations (id, checksum) values ($1, $2)', [id, checksum]);
}

/**
 * For every process: another encoding stores other letters than were sent, or none.
 * @throws StartError
 */
export async function requireUtf8(db: Db): Promise<void> {
  const { rows } = await db.query<{ encoding: string }>(
    'select pg_encoding_to_char(encoding) as encoding from pg_database where datname = current_database()',
  );
  if (rows[0]?.encoding !== 'UTF8')
    throw new StartError(
      `The database's encoding is ${rows[0]?.encoding}; it must be UTF8: create it with "encoding 'UTF8' template template0".`,
    );
}

/** Instead of a second, empty instance: a build before 1.0.0 used the search_path of its role. */
async function refuseOtherSchema(db: Db): Promise<void> {
  const { rows } = await db.query<{ schema: string }>(
    `select relnamespace::regnamespace::text as schema from pg_class
     where relname in ('migrations', 'import_items', 'mail_outbox') and to_regclass('public.migrations') is null
     group by relnamespace having count(*) = 3 limit 1`,
  );
  const schema = rows[0]?.schema;
  if (schema === undefined) return;
  throw new StartError(
    `The tables of Muster are in the schema ${schema} of this database, and must be in the schema public: rename it ("alter schema ${schema} rename to public", after you have renamed the empty schema public).`,
  );
}

/** The name of the index that a migration builds or drops concurrently; undefined for any other migration. */
function concurrentIndex(text: string): string | undefined {
  return CONCURRENTLY.exec(text)?.[1];
}

/**
 * Builds the missing indexes, unless another process does. Nobody waits for the lock: a statement that waits has a
 * snapshot, and the build waits for all older snapshots.
 * @returns false while another process builds
 */
async function buildAlone(pool: Pool, indexes: readonly Migration[]): Promise<boolean> {
  const db = await pool.connect();
  try {
    const { rows } = await db.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [BUILDING]);
    if (!rows[0]?.mine) return false;
    for (const index of await missing(db, indexes)) await build(db, index);
    return true;
  } finally {
    // Ends the session, and so its lock.
    db.release(true);
  }
}

async function missing(db: Db, migrations: readonly Migration[]): Promise<Migration[]> {
  const ids = migrations.map(({ id }) => id);
  const { rows } = await db.query<Pick<Migrations, 'id'>>('select id from migrations where id = any($1::integer[])', [
    ids,
  ]);
  return migrations.filter(({ id }) => !rows.some((row) => row.id === id));
}

/** Users are written meanwhile, also for minutes on a large table. */
async function build(db: Db, migration: Migration): Promise<void> {
  const name = concurrentIndex(migration.text) as string;
  const { rowCount } = await db.query('select from pg_index where indexrelid = to_regclass($1) and not indisvalid', [
    name,
  ]);
  if (rowCount) await db.query(`drop index concurrently if exists ${name}`);
  await db.query(migration.text);
  await noteApplied(db, migration);
}
