/**
 * Ends what the authorization server keeps for somebody: logins in browsers, grants, codes and tokens; and removes what
 * has run out.
 *
 * Guarantee: once the transaction has committed, none of it is good on any process. Change the user's state before you
 * call this in the same transaction: a token that is being made waits for that row, and then finds its user not active.
 */
import type { Db } from '../../db/pool.ts';

/** Call it when a user, or many, are locked, deactivated or get another password. Deleting a user does it by itself. */
export async function endOauthOf(db: Db, userId: string | string[]): Promise<void> {
  await end(db, 'user_id', [userId].flat());
}

/** Call it when a client is removed: what was granted to it ends, its users' logins go on. */
export async function endClientGrants(db: Db, clientId: string): Promise<void> {
  await end(db, 'client_id', [clientId]);
}

/** Grants first: whoever else ends one locks it before what came of it, too. */
async function end(db: Db, column: 'user_id' | 'client_id', values: string[]): Promise<void> {
  await db.query(`delete from oauth_models where ${column} = any($1::text[]) and kind = 'Grant'`, [values]);
  await db.query(`delete from oauth_models where ${column} = any($1::text[])`, [values]);
}

const SWEEP_ROWS = 1000;

/** Removes what has expired, which nothing takes for good any more; some rows at a time, so that nobody waits for it. */
export async function sweepExpired(db: Db): Promise<number> {
  for (let swept = 0; ; ) {
    const { rowCount } = await db.query(
      `delete from oauth_models where id_hash in (
         select id_hash from oauth_models where expires_at < now() order by expires_at limit $1 for update skip locked)`,
      [SWEEP_ROWS],
    );
    swept += rowCount ?? 0;
    if ((rowCount ?? 0) < SWEEP_ROWS) return swept;
  }
}
