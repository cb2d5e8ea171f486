/**
 * Due webhook messages, written by the transaction that makes them due (announce_end, in the migration). SQL takes the
 * turns of organizations, because all senders share the rows.
 *
 * Guarantee: no two senders hold the same message at a time. Each message settles once.
 *
 * On crash: a claim moves the next attempt into the future; after a crash, the message is due again at that time.
 */
import { releaseRows } from '../../platform/db/lease.ts';
import type { Db } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../../platform/db/rows.ts';
import type { WebhookDeliveries } from '../../platform/db/tables.ts';

const DUE_WEBHOOK = {
  id: 'id',
  messageId: 'message_id',
  importId: 'import_id',
  orgId: 'org_id',
  url: 'url',
  /** Composed at the first attempt; null until then. */
  body: 'body',
  /** Attempts made before this one. */
  attempts: 'attempts',
  createdAt: 'created_at',
} as const satisfies Names<WebhookDeliveries>;

export type DueWebhook = Named<WebhookDeliveries, typeof DUE_WEBHOOK>;

export interface WebhookClaim {
  limit: number;
  /** For how long, in milliseconds; must be longer than an attempt takes. */
  holdMs: number;
  /** Organizations whose messages are not claimed now. */
  except?: string[];
  /** Organizations that come last, the first of them before the others. */
  last?: string[];
}

// Skips from organization to organization over the index webhook_deliveries_turns, however many messages they have. Only
// `settled_at` says here which messages are pending: see the migration of that index. The lateral subqueries force
// index lookups, and lock no more messages than are claimed.
const CLAIM = `
with recursive waiting as (
  (select org_id, next_attempt_at from webhook_deliveries
   where settled_at is null order by org_id, next_attempt_at limit 1)
  union all
  select n.* from waiting w cross join lateral (
    select d.org_id, d.next_attempt_at from webhook_deliveries d
    where d.settled_at is null and d.org_id > w.org_id order by d.org_id, d.next_attempt_at limit 1) n
),
turn as materialized (
  select org_id from waiting where next_attempt_at <= now() and org_id <> all($3::text[])
  order by array_position($4::text[], org_id) nulls first, next_attempt_at
),
due as materialized (
  select d.id from turn t cross join lateral (
    select id from webhook_deliveries d
    where d.settled_at is null and d.org_id = t.org_id and d.next_attempt_at <= now()
    order by d.next_attempt_at limit 1 for update skip locked) d
  limit $1
)
-- The array makes the planner look up each id; without it, a planner that expects few rows reads the whole index.
update webhook_deliveries w set next_attempt_at = now() + $2 * interval '1 millisecond'
from due where w.id = any(array(select id from due)) and w.id = due.id
returning ${columnList(DUE_WEBHOOK, 'w')}`;

/** Claims the oldest due message of each organization; the organization that waits longest is first. */
export async function claimWebhooks(
  db: Db,
  { limit, holdMs, except = [], last = [] }: WebhookClaim,
): Promise<DueWebhook[]> {
  return (await db.query<DueWebhook>(CLAIM, [limit, holdMs, except, last])).rows;
}

/** Stores the body, so that every attempt sends the same one. */
export async function keepBody(db: Db, id: string, body: string): Promise<void> {
  await db.query('update webhook_deliveries set body = $2 where id = $1', [id, body]);
}

/** Whether the same import has ended again since this message became due. */
export async function isOutdated(db: Db, { id, importId }: Pick<DueWebhook, 'id' | 'importId'>): Promise<boolean> {
  const later = await db.query('select from webhook_deliveries where import_id = $1 and id > $2 limit 1', [
    importId,
    id,
  ]);
  return later.rowCount !== 0;
}

/** Releases a claim whose attempt did not complete. */
export async function releaseWebhook(db: Db, { id, attempts }: Pick<DueWebhook, 'id' | 'attempts'>): Promise<void> {
  const where = `w.id = $1 and w.attempts = $2 and w.state = 'pending'`;
  await db.query(releaseRows('webhook_deliveries w', where), [id, attempts]);
}

/** Deletes a message that has nothing left to report. */
export async function dropWebhook(db: Db, id: string): Promise<void> {
  await db.query(`delete from webhook_deliveries where id = $1 and state = 'pending'`, [id]);
}

export interface WebhookOutcome {
  state: 'sent' | 'failed' | 'pending';
  error: string | null;
  /** Until the next attempt; only for `pending`. */
  delayMs: number;
}

/**
 * Writes the outcome of an attempt; has no effect if another sender already did so for the same attempt. Erases the
 * body of a settled message, which nobody reads any more; the outcome stays with the import.
 */
export async function settleWebhook(
  db: Db,
  { id, attempts }: Pick<DueWebhook, 'id' | 'attempts'>,
  { state, error, delayMs }: WebhookOutcome,
): Promise<void> {
  await db.query(
    `update webhook_deliveries set state = $3::mail_state, attempts = attempts + 1, last_error = $4,
       next_attempt_at = clock_timestamp() + $5 * interval '1 millisecond',
       settled_at = case when $3::mail_state = 'pending' then null else clock_timestamp() end,
       body = case when $3::mail_state = 'pending' then body end
     where id = $1 and attempts = $2 and state = 'pending'`,
    [id, attempts, state, error, delayMs],
  );
}
