/**
 * Which workers are alive: those connected to a queue, as BullMQ knows them, those that report
 * themselves, and the holders of leases. Everything that
 * tells who works goes through here.
 */

import { WORKER_ROLE_NAMES } from '../config.ts';
import type { Db } from '../db/pool.ts';
import type { QueueName, Queues } from '../queue/queues.ts';
import { listWorkers } from '../queue/worker-list.ts';

/** Duties that one process at a time performs (workers/duty.ts). The undoer has its lease only while it undoes. */
export const DUTIES = ['dispatcher', 'undoer'] as const;
export type Duty = (typeof DUTIES)[number];

/** The number of worker processes that take jobs, by queue. @throws TimedOut when the queue does not answer */
export function liveWorkers(queues: Pick<Queues, 'workers'>): Promise<Record<QueueName, number>> {
  return byQueue((queue) => queues.workers(queue));
}

export type Role = (typeof WORKER_ROLE_NAMES)[number];

/** The number of live worker processes, by role. */
export async function workersByRole(db: Db): Promise<Record<Role, number>> {
  const workers = await listWorkers(db);
  const count = (role: Role) => workers.filter(({ roles }) => roles.includes(role)).length;
  return Object.fromEntries(WORKER_ROLE_NAMES.map((role) => [role, count(role)])) as Record<Role, number>;
}

/** The duties that a live process has. */
export async function heldDuties(db: Db): Promise<Duty[]> {
  const { rows } = await db.query<{ name: Duty }>(
    'select name from leases where name = any($1) and expires_at > clock_timestamp()',
    [DUTIES],
  );
  return rows.map(({ name }) => name);
}

export async function byQueue(read: (queue: QueueName) => Promise<number>): Promise<Record<QueueName, number>> {
  const [imports, mails] = await Promise.all([read('imports'), read('mails')]);
  return { imports, mails };
}
