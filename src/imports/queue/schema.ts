/** The tables of BullMQ's PostgreSQL backend, in schema `bullmq`. BullMQ defines them; Muster applies them at start. */
import { LATEST_SCHEMA_VERSION, runMigrations } from 'bullmq';
import type { Db, Pool } from '../../platform/db/pool.ts';

/** Idempotent, under BullMQ's own advisory lock. Tables that are up to date are only read. */
export async function migrateQueue(pool: Pool): Promise<void> {
  const { applied, known } = await queueSchemaState(pool);
  if (applied >= known) return;
  const client = await pool.connect();
  try {
    await runMigrations(client);
  } finally {
    client.release();
  }
}

/** The newest applied version of BullMQ's schema (0 if there is none), and the newest one that this BullMQ has. */
export async function queueSchemaState(db: Db): Promise<{ applied: number; known: number }> {
  const { rows: tables } = await db.query<{ oid: string | null }>(`select to_regclass('bullmq.migration') as oid`);
  if (!tables[0]?.oid) return { applied: 0, known: LATEST_SCHEMA_VERSION };
  const { rows } = await db.query<{ applied: number }>(
    'select coalesce(max(version), 0)::integer as applied from bullmq.migration',
  );
  return { applied: rows[0]?.applied ?? 0, known: LATEST_SCHEMA_VERSION };
}
