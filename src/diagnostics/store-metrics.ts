/**
 * The store metrics in `/metrics`: pending work, and imports in progress. Each read uses a partial index or a few rows,
 * however large the tables are.
 */
import type { Pool } from '../db/pool.ts';
import type { Measure } from '../http/metrics/metrics.ts';
import type { QueueName, Queues } from '../queue/queues.ts';

/** Counting stops here: a larger number would say no more than "very many". */
const MOST_MAILS = 100_000;
const QUEUES: QueueName[] = ['imports', 'mails'];

export function storeMetrics({ pool, queues }: { pool: Pool; queues: Pick<Queues, 'depth'> }): Measure[] {
  return [
    {
      name: 'muster_queue_jobs',
      help: 'Waiting and running jobs, by queue.',
      label: 'queue',
      read: async () =>
        Object.fromEntries(await Promise.all(QUEUES.map(async (queue) => [queue, await queues.depth(queue)] as const))),
    },
    {
      name: 'muster_mails_pending',
      help: `Mails not yet sent; at most ${MOST_MAILS} are counted.`,
      read: () => count(pool, `select 1 from mail_outbox where state = 'pending' limit ${MOST_MAILS}`),
    },
    {
      name: 'muster_imports_open',
      help: 'Imports that are uploading, running or being undone, by state.',
      label: 'state',
      read: () => openImports(pool),
    },
    {
      name: 'muster_import_items_pending',
      help: 'Users of running imports that are not written yet.',
      read: () => pendingItems(pool),
    },
  ];
}

async function count(pool: Pool, rowsOf: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(`select count(*)::integer as n from (${rowsOf}) as r`);
  return rows[0]?.n ?? 0;
}

async function openImports(pool: Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ state: string; n: number }>(
    `select state, count(*)::integer as n from imports where state in ('receiving', 'running', 'undoing') group by state`,
  );
  const none = { receiving: 0, running: 0, undoing: 0 };
  return { ...none, ...Object.fromEntries(rows.map(({ state, n }) => [state, n])) };
}

/** A timed-out import stays `running` in the table until it is read; its items are no longer pending. */
async function pendingItems(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select coalesce(sum(total - succeeded - skipped - failed - undone), 0)::float8 as n
     from imports where state = 'running' and deadline > now()`,
  );
  return rows[0]?.n ?? 0;
}
