/** The tables of BullMQ's PostgreSQL backend, in schema `bullmq`; kept by BullMQ, applied by us at start. */
import { runMigrations } from 'bullmq';
import type { Pool } from '../db/pool.ts';

/** Idempotent, under BullMQ's own advisory lock. */
export async function migrateQueue(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client);
  } finally {
    client.release();
  }
}
