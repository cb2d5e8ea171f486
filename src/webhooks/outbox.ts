/**
 * Due webhook messages, written by the transaction that makes them due (announce_end, in the migration).
 *
 * Guarantee: no two senders hold the same message at a time. Each message settles once.
 *
 * On crash: a claim moves the next attempt into the future; after a crash, the message is due again at that time.
 */
import type { Db } from '../db/pool.ts';

export interface DueWebhook {
  id: string;
  messageId: string;
  importId: string;
  orgId: string;
  url: string;
  /** Composed at the first attempt; null until then. */
  body: string | null;
  /** Attempts made before this one. */
  attempts: number;
  createdAt: Date;
}

/** Claims due messages, oldest first, for `holdMs` milliseconds, which must be longer than an attempt takes. */
export async function claimWebhooks(db: Db, limit: number, holdMs: number): Promise<DueWebhook[]> {
  const { rows } = await db.query<DueWebhook>(
    `with due as (
       select id from webhook_deliveries where state = 'pending' and next_attempt_at <= now()
       order by next_attempt_at limit $1 for update skip locked)
     update webhook_deliveries w set next_attempt_at = now() + $2 * interval '1 millisecond'
     from due where w.id = due.id
     returning w.id, w.message_id as "messageId", w.import_id as "importId", w.org_id as "orgId", w.url, w.body,
       w.attempts, w.created_at as "createdAt"`,
    [limit, holdMs],
  );
  return rows;
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
  await db.query(
    `update webhook_deliveries set next_attempt_at = now() where id = $1 and attempts = $2 and state = 'pending'`,
    [id, attempts],
  );
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
