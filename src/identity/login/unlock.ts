import type { Db } from '../../db/pool.ts';
import type { Secrets } from '../../secrets.ts';
import { ofUser } from './keys.ts';

/** Whether failed logins of the user count, in any network: they delay further ones, or lock them for a time. */
export async function hasFailedLogins(db: Db, secrets: Secrets, userId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from login_delays d, users u
     where u.id = $1 and d.user_key = $2
       and d.last_failure_at > coalesce(greatest(u.password_changed_at, u.attempts_since), '-infinity')
     limit 1`,
    [userId, ofUser(secrets, userId)],
  );
  return rowCount === 1;
}
