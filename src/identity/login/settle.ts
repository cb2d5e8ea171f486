/**
 * The last step of a login whose secrets were right.
 *
 * On crash: the statement has done all or nothing; then the attempt stays counted as failed.
 */
import { type Db, prepared } from '../../db/pool.ts';
import { FORCES_MFA } from '../../policies/store.ts';
import type { UserState } from '../../users/store.ts';
import { countsOf, lessWith, type Place } from './delays.ts';
import type { AttemptKeys, UserKeys } from './keys.ts';
import { rememberWith } from './networks.ts';
import type { Login } from './store.ts';

/** An attempt that was counted as failed before its check. */
export interface CountedAttempt {
  keys: AttemptKeys;
  place: Place;
  user: UserKeys;
}

export type SettledState = UserState | 'code_missing' | 'factor_missing';

/** Two steps of a `with`, from the numbers of the parameters. */
function settleWith({ id, setAt, hasCode }: { id: number; setAt: number; hasCode: number }): string {
  return `now as (
      select id, case when not $${hasCode}::boolean
          and exists (select from user_totp t where t.user_id = u.id and t.confirmed_at is not null)
        then 'code_missing'
        when not $${hasCode}::boolean and u.kind = 'human' and u.state = 'active' and ${FORCES_MFA} then 'factor_missing'
        else state::text end as state
      from users u where id = $${id}::text and password_changed_at is not distinct from $${setAt}::timestamptz
      for no key update),
    seen as (
      update users u set last_login_at = now() from now
      where u.id = now.id and now.state = 'active'
        and coalesce(u.last_login_at < now() - interval '1 hour', true))`;
}

const RESULT = 'select state from now';
const SETTLE = `with ${settleWith({ id: 1, setAt: 2, hasCode: 3 })} ${RESULT}`;
// One statement, as each costs a round trip and a commit. The row of the user is locked before those of the counts.
const SETTLE_COUNTED = `with ${settleWith({ id: 6, setAt: 8, hasCode: 9 })},
  ${lessWith(`exists (select from now where state = 'active')`)},
  ${rememberWith(`(select id from now where state = 'active')`, 6)} ${RESULT}`;

/**
 * The user's state after the check; `code_missing` if the user has a second factor and entered no code, `factor_missing`
 * if the policy requires a second factor and the user has none. For an active user it records the login: at most once an
 * hour, so that few logins write a new row version, and without a change of the user's sequence. Undefined if the user was
 * deleted or has changed the password since. It locks the row, so it waits for a transaction that removes the user.
 * @param counted if the user is active, its failures are forgotten (`lessWith`), and its network is remembered
 */
export async function settleLogin(
  db: Db,
  login: Pick<Login, 'id' | 'passwordSetAt'>,
  hasCode = true,
  counted?: CountedAttempt,
): Promise<SettledState | undefined> {
  const { id, passwordSetAt } = login;
  const query = counted
    ? prepared(SETTLE_COUNTED, [
        ...countsOf(counted.keys, counted.place),
        ...[counted.user.user, id, counted.user.network, passwordSetAt, hasCode],
      ])
    : prepared(SETTLE, [id, passwordSetAt, hasCode]);
  const { rows } = await db.query<{ state: SettledState }>(query);
  return rows[0]?.state;
}
