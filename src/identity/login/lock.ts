/**
 * Locks a user after too many failed logins.
 *
 * Guarantee: only an active user is locked, with the same effect as a lock by a manager. The last active human
 * IAM_OWNER is never locked, as nobody might be left to unlock them; answers to their logins are still delayed.
 */
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { changeState } from '../../users/states.ts';
import { findUser } from '../../users/store.ts';

const EDITOR = 'system';

/**
 * Locks the user if they still have that many failures.
 * @returns whether this call locked the user
 */
export async function lockAfterFailures(pool: Pool, userId: string, failures: number): Promise<boolean> {
  return transaction(pool, async (db) => {
    const { rowCount } = await db.query(
      `select 1 from users u where id = $1 and state = 'active'
         and exists (select from login_failures f where f.user_id = u.id and f.failures >= $2)
       for no key update`,
      [userId, failures],
    );
    if (!rowCount || (await isLastOwner(db, userId))) return false;
    const user = await findUser(db, userId);
    if (!user) return false;
    await changeState(db, user, 'lock', EDITOR);
    return true;
  });
}

const OWNS = `'IAM_OWNER' = any(m.roles)`;

/** Serialised: two owners who fail at once must not each assume that the other remains. */
async function isLastOwner(db: Db, userId: string): Promise<boolean> {
  const owner = await db.query(`select 1 from instance_members m where m.user_id = $1 and ${OWNS}`, [userId]);
  if (!owner.rowCount) return false;
  await db.query('lock table instance_members in share row exclusive mode');
  const { rowCount: others } = await db.query(
    `select 1 from instance_members m join users u on u.id = m.user_id
     where m.user_id <> $1 and ${OWNS} and u.kind = 'human' and u.state = 'active' limit 1`,
    [userId],
  );
  return !others;
}
