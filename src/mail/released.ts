/**
 * Prepares held mails when they are released: their codes' lifetime starts now, and users who have since been
 * deactivated or locked get no mail. Users who have since verified the address or set a password have none left: the
 * change dropped it (codes.ts).
 *
 * On crash: the mails are claimed and prepared again.
 */
import { type Pool, transaction } from '../db/pool.ts';
import { dropUnsentMails, IS_UNSENT } from './outbox.ts';

/** @param codeTtlMs how long the codes are valid from now on, in milliseconds */
export async function prepareReleased(pool: Pool, mailIds: string[], codeTtlMs: number): Promise<void> {
  if (mailIds.length === 0) return;
  await transaction(pool, async (db) => {
    const { rows } = await db.query<{ user_id: string }>(
      `select distinct m.user_id from mail_outbox m join users u on u.id = m.user_id
       where m.id = any($1::bigint[]) and u.state in ('inactive', 'locked')`,
      [mailIds],
    );
    if (rows.length > 0)
      await dropUnsentMails(
        db,
        rows.map((row) => row.user_id),
      );
    await db.query(
      `update codes c set expires_at = now() + $2 * interval '1 millisecond'
       from mail_outbox m where m.id = any($1::bigint[]) and ${IS_UNSENT} and c.id = m.code_id`,
      [mailIds, codeTtlMs],
    );
  });
}
