/**
 * Sends a code to a user, and limits how many mails and text messages a user gets in a day without a manager: a user
 * must not flood the addresses of others, and nobody the user. Requests of users and of anybody count apart, so that a
 * stranger on the page for forgotten passwords does not keep users from their own changes.
 *
 * Guarantee: all processes count together, with the user's row locked; a request that fails counts nothing.
 * On crash: before the commit, nothing is counted or sent.
 */
import type { Config } from '../config.ts';
import type { Db } from '../db/pool.ts';
import { sweepRows } from '../db/sweep.ts';
import { ApiError } from '../errors.ts';
import { mailCode } from '../mail/codes.ts';
import type { NewMail } from '../mail/outbox.ts';

const DAY = `interval '24 hours'`;
const IS_OVER = `c.since <= now() - ${DAY}`;

/** Error id of the limit. */
export const MAIL_LIMIT = 'MAIL-LIMIT';

/** The editor of what anybody may request for a user. */
export const ANYBODY = 'system';

const COUNT = `
insert into mail_counts as c (user_id, requester, mails) values ($1, $2, 1)
on conflict (user_id, requester) do update set
  mails = case when ${IS_OVER} then 1 else c.mails + 1 end, since = case when ${IS_OVER} then now() else c.since end
returning mails, ceil(extract(epoch from since + ${DAY} - now()))::int as "leftS"`;

/**
 * Sends the code. It counts if the user or anybody asks for it. Call it in a transaction, with the user's row locked.
 * @param editor who asks: the user's own id, `ANYBODY`, or a manager, for whom there is no limit
 * @throws ApiError 429 MAIL-LIMIT; roll the transaction back then
 */
export async function mailRequested(
  { db, config }: { db: Db; config: Pick<Config, 'RATE_LIMIT_MAILS'> },
  mail: NewMail,
  editor: string,
): Promise<void> {
  const requester = editor === mail.userId ? 'user' : editor === ANYBODY ? 'anybody' : undefined;
  if (requester && config.RATE_LIMIT_MAILS > 0) await count(db, mail.userId, requester, config.RATE_LIMIT_MAILS);
  await mailCode(db, mail);
}

async function count(db: Db, userId: string, requester: 'user' | 'anybody', limit: number): Promise<void> {
  const { rows } = await db.query<{ mails: number; leftS: number }>(COUNT, [userId, requester]);
  const { mails, leftS } = rows[0] as { mails: number; leftS: number };
  if (mails <= limit) return;
  const message = `A user gets at most ${limit} emails and text messages a day. Try again later, or ask a manager.`;
  throw new ApiError('RESOURCE_EXHAUSTED', MAIL_LIMIT, message, { retryAfterS: Math.max(1, leftS) });
}

/** Removes one batch of counts that would restart anyway; returns how many. */
export function sweepMailCounts(db: Db): Promise<number> {
  return sweepRows(db, { table: 'mail_counts', where: `since <= now() - ${DAY}`, order: 'since' });
}
