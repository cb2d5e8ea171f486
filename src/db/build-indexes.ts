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
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db, Pool } from './pool.ts';

/** "MUSI" as bytes. */
const LOCK = 0x4d555349;
const PAUSE_MS = 500;
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
    if (!(await buildAlone(pool, migrations))) await sleep(PAUSE_MS);
  }
}

/** @returns false while another process builds */
async function buildAlone(pool: Pool, migrations: readonly IndexMigration[]): Promise<boolean> {
  const db = await pool.connect();
  try {
    const { rows } = await db.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [LOCK]);
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
