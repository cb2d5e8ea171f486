/** The queues: their jobs, the workers that take them, and who fills them. */
import type { Db } from '../../db/pool.ts';
import { byQueue, DUTIES, heldDuties, liveWorkers, workersByRole } from '../../diagnostics/live-workers.ts';
import type { Measure } from '../../http/metrics/metrics.ts';
import type { Queues } from '../../queue/queues.ts';

export function queueMeasures(db: Db, queues: Pick<Queues, 'depth' | 'workers'>): Measure[] {
  return [
    {
      name: 'muster_queue_jobs',
      help: 'Waiting and running jobs, by queue.',
      label: 'queue',
      read: () => byQueue((queue) => queues.depth(queue)),
    },
    {
      name: 'muster_workers',
      help: 'Live worker processes that take jobs, by queue.',
      label: 'queue',
      read: () => liveWorkers(queues),
    },
    {
      name: 'muster_worker_roles',
      help: 'Live worker processes, by role.',
      label: 'role',
      read: () => workersByRole(db),
    },
    {
      name: 'muster_leases_held',
      help: 'Whether a worker process has the duty: 1 or 0. Without a dispatcher, the queue of imports stays empty.',
      label: 'duty',
      read: async () => {
        const held = await heldDuties(db);
        return Object.fromEntries(DUTIES.map((duty) => [duty, held.includes(duty) ? 1 : 0]));
      },
    },
  ];
}
