/**
 * Brings the database to the newest schema.
 *
 * Duty: apply `migrations/NNN_name.sql` in order, forward only, all in one transaction under an advisory lock.
 * If we die here nothing was changed; a second process waits for the lock and then finds nothing to do.
 */
import { readdir, readFile } from 'node:fs/promises';
import { type Db, type Pool, transaction } from './pool.ts';

const FOLDER = new URL('./migrations/', import.meta.url);
/** "MUST" as bytes. */
const LOCK = 0x4d555354;

/**
 * Applies what is missing; any number of processes may call it at once.
 * @throws Error when the database is newer than this program or is not UTF8
 */
export async function migrate(pool: Pool): Promise<void> {
  await transaction(pool, async (db) => {
    await db.query('select pg_advisory_xact_lock($1)', [LOCK]);
    await requireUtf8(db);
    await db.query(
      'create table if not exists migrations (id integer primary key, applied_at timestamptz not null default now())',
    );
    const { rows } = await db.query<{ id: number }>('select id from migrations');
    await applyMissing(db, new Set(rows.map((r) => r.id)));
  });
}

/** The newest migration that was applied, 0 in an empty database, and the newest that there is. */
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

async function applyMissing(db: Db, done: Set<number>): Promise<void> {
  const files = await migrationFiles();
  const ids = files.map(numberOf);
  const newest = Math.max(...ids);
  for (const id of done) {
    if (id > newest)
      throw new Error(`The database has migration ${id}, this program knows ${newest}: start the newer program.`);
  }
  for (const [i, file] of files.entries()) {
    if (done.has(ids[i] as number)) continue;
    await db.query(await readFile(new URL(file, FOLDER), 'utf8'));
    await db.query('insert into migrations (id) values ($1)', [ids[i]]);
  }
}

async function requireUtf8(db: Db): Promise<void> {
  const { rows } = await db.query<{ encoding: string }>(
    'select pg_encoding_to_char(encoding) as encoding from pg_database where datname = current_database()',
  );
  if (rows[0]?.encoding !== 'UTF8')
    throw new Error(`The database's encoding is ${rows[0]?.encoding}; it must be UTF8.`);
}
