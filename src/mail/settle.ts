/**
 * The only place that writes the outcomes of mails.
 *
 * Guarantee: a row settles once, and its import counts it in the same transaction.
 *
 * On crash: the outcome is unknown and the mail is delivered again with the same Message-ID.
 */
import { type Db, type Pool, transaction } from '../db/pool.ts';
import { IS_UNSENT } from './outbox.ts';

/** How one attempt ended. `state` pending: retried after `delayMs`. */
export interface MailOutcome {
  id: string;
  attempt: number;
  importId: string | null;
  state: 'sent' | 'failed' | 'pending';
  error: string | null;
  delayMs: number;
}

/**
 * Writes the outcomes of many mails at once. A mail that was sent counts as sent regardless of other attempts; a
 * failure counts only for its own attempt. Each mail settles, and is counted on its import, once.
 */
export async function settleMails(pool: Pool, outcomes: MailOutcome[]): Promise<void> {
  await transaction(pool, async (db) => {
    // Locks imports before mails, as an undo does, whose deletes reach the mails: the two cannot deadlock.
    const imports = outcomes.flatMap((o) => (o.importId && o.state !== 'pending' ? [o.importId] : []));
    if (imports.length > 0) {
      await db.query('select id from imports where id = any($1::bigint[]) order by id for update', [imports]);
    }
    const counts = await writeOutcomes(db, outcomes);
    if (counts.length > 0) await countOnImports(db, counts);
  });
}

interface ImportCount {
  import_id: string;
  sent: number;
  failed: number;
}

async function writeOutcomes(db: Db, outcomes: MailOutcome[]): Promise<ImportCount[]> {
  const { rows } = await db.query<ImportCount>(
    `with settled as (
       update mail_outbox m
       set state = o.state, attempts = m.attempts + 1, last_error = o.error,
           next_attempt_at = clock_timestamp() + o.delay_ms * interval '1 millisecond',
           settled_at = case when o.state = 'pending' then null else clock_timestamp() end
       from unnest($1::bigint[], $2::int[], $3::mail_state[], $4::text[], $5::bigint[])
         as o (id, attempt, state, error, delay_ms)
       where m.id = any($1::bigint[]) and m.id = o.id and ${IS_UNSENT} and (o.state = 'sent' or m.attempts = o.attempt)
       returning m.import_id, m.state)
     select import_id, count(*) filter (where state = 'sent')::int as sent,
            count(*) filter (where state = 'failed')::int as failed
     from settled where import_id is not null and state <> 'pending' group by import_id`,
    [
      outcomes.map((o) => o.id),
      outcomes.map((o) => o.attempt),
      outcomes.map((o) => o.state),
      outcomes.map((o) => o.error),
      outcomes.map((o) => o.delayMs),
    ],
  );
  return rows;
}

async function countOnImports(db: Db, counts: ImportCount[]): Promise<void> {
  await db.query(
    `update imports i set mails_sent = i.mails_sent + c.sent, mails_failed = i.mails_failed + c.failed
     from unnest($1::bigint[], $2::int[], $3::int[]) as c (id, sent, failed) where i.id = c.id`,
    [counts.map((c) => c.import_id), counts.map((c) => c.sent), counts.map((c) => c.failed)],
  );
}
