/**
 * The state of the stores as metrics: open imports and their pending users, mails and webhooks that wait, and the
 * queues.
 *
 * Reads partial indexes that hold open imports and pending rows only, however many imports and users there are.
 */
import type { QueueName, Queues } from '../imports/queue/queues.ts';
import { listWorkers } from '../imports/status/workers.ts';
import { NEXT_IMPORT } from '../messages/mail/outbox.ts';
import { WORKER_ROLE_NAMES } from '../platform/config.ts';
import type { Db } from '../platform/db/pool.ts';
import { atMostEvery, type Measure } from '../platform/http/metrics.ts';

/** Duties that one process at a time performs (workers/loop.ts). The undoer has its lease only while it undoes. */
const DUTIES = ['dispatcher', 'undoer'] as const;

export type Duty = (typeof DUTIES)[number];

export type Role = (typeof WORKER_ROLE_NAMES)[number];

const NONE = { receiving: 0, running: 0, paused: 0, undoing: 0 };
const SHARED_MS = 1000;

/**
 * Counting stops here: every API process counts in each scrape, and a larger number would say no more than "very many".
 */
const MOST = 10_000;
/** Imports whose oldest mail is looked up. */
const MOST_IMPORTS = 1000;

// A timed-out import stays `running` in the table until
// it is read; its users are no longer pending. One branch for each partial index: imports_open, imports_paused.
export const OPEN_IMPORTS = `
with open as (
  select state, accepted_at, stood, changed_at,
    case when state = 'running' and deadline > clock_timestamp()
      then total - succeeded - skipped - failed - undone else 0 end as pending
  from imports where state in ('receiving', 'running', 'undoing')
  union all
  select state, accepted_at, stood, changed_at, 0 from imports where state = 'paused'
)
select state, count(*)::int as imports, sum(pending)::float8 as pending,
  coalesce(max(extract(epoch from clock_timestamp() - accepted_at - stood)) filter (where pending > 0), 0)::float8 as oldest,
  coalesce(max(extract(epoch from clock_timestamp() - changed_at)) filter (where pending > 0), 0)::float8 as stalled
from open group by state`;

export const PENDING_MAILS = `select count(*)::float8 as n from (
  select from mail_outbox where state = 'pending' limit ${MOST}) as r`;

export const PENDING_WEBHOOKS = `select count(*)::float8 as n from (
  select from webhook_deliveries where state = 'pending' limit ${MOST}) as r`;

// The next mail of each import, not the oldest of all: one address that a mail server refuses for hours says nothing
// about the others, and the index has the next mails first. Released mails are as old as their release.
export const OUTBOX_AGE = `
with recursive ${NEXT_IMPORT},
next_mail (since) as (
  (select created_at from mail_outbox where state = 'pending' and import_id is null
    order by next_attempt_at, id limit 1)
  union all
  (select case when i.mails = 'released' then greatest(m.created_at, i.changed_at) else m.created_at end
    from next_import n
    left join lateral (select mails, changed_at from imports where id = n.id offset 0) i on true
    cross join lateral (
      select created_at from mail_outbox where state = 'pending' and import_id = n.id
      order by next_attempt_at, id limit 1) m
    where n.id is not null and i.mails is distinct from 'held' limit ${MOST_IMPORTS})
)
select coalesce(greatest(0, extract(epoch from clock_timestamp() - min(since))), 0)::float8 as n from next_mail`;

interface Row {
  state: string;
  imports: number;
  /** Users of imports that run and whose deadline has not passed. */
  pending: number;
  /** Seconds; 0 if nothing is pending. */
  oldest: number;
  stalled: number;
}

export function openImports(db: Db): Measure[] {
  const rows = atMostEvery(SHARED_MS, async () => (await db.query<Row>(OPEN_IMPORTS)).rows);
  const ofRunning = async (column: 'pending' | 'oldest' | 'stalled') =>
    (await rows()).find((row) => row.state === 'running')?.[column] ?? 0;
  return [
    {
      name: 'muster_imports_open',
      help: 'Imports that are uploading (receiving), running, paused or being undone, by state.',
      label: 'state',
      read: async () => ({ ...NONE, ...Object.fromEntries((await rows()).map((row) => [row.state, row.imports])) }),
    },
    {
      name: 'muster_import_items_pending',
      help: 'Users of running imports that are not written yet.',
      read: () => ofRunning('pending'),
    },
    {
      name: 'muster_import_oldest_pending_seconds',
      help: 'How long the oldest import with pending users has been running.',
      read: () => ofRunning('oldest'),
    },
    {
      name: 'muster_import_stalled_seconds',
      help: 'Time since the last progress of an import with pending users; of all imports, the longest.',
      read: () => ofRunning('stalled'),
    },
  ];
}

export function outboxes(db: Db): Measure[] {
  return [
    {
      name: 'muster_mails_pending',
      help: `Mails not yet sent, also those that are held; at most ${MOST} are counted.`,
      read: () => one(db, PENDING_MAILS),
    },
    {
      name: 'muster_mail_outbox_age_seconds',
      help: 'Age of the next mail to be sent, of the import whose next mail is the oldest. Held mails do not count.',
      read: () => one(db, OUTBOX_AGE),
    },
    {
      name: 'muster_webhooks_pending',
      help: `Webhook messages not yet delivered; at most ${MOST} are counted.`,
      read: () => one(db, PENDING_WEBHOOKS),
    },
  ];
}

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

async function one(db: Db, text: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(text);
  return rows[0]?.n ?? 0;
}

/** The number of worker processes that take jobs, by queue. @throws TimedOut when the queue does not answer */
export function liveWorkers(queues: Pick<Queues, 'workers'>): Promise<Record<QueueName, number>> {
  return byQueue((queue) => queues.workers(queue));
}

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

/** Reads a number for each queue. */
export async function byQueue(read: (queue: QueueName) => Promise<number>): Promise<Record<QueueName, number>> {
  const [imports, hashes, mails] = await Promise.all([read('imports'), read('hashes'), read('mails')]);
  return { imports, hashes, mails };
}
