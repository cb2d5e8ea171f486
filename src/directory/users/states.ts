/**
 * The states of a user and the only transitions between them (diagram in README.md), and whether a user is left out of
 * mail codes.
 *
 * Guarantee: a transition happens only from its `from` states; the update itself enforces this. The same transaction
 * appends the event and, where the user is deactivated or locked, revokes sessions and grants; so none of them is left
 * when the call returns, and none comes back.
 */
import type { OperationId } from '../../contract/operations.ts';
import type { UserState } from '../../contract/users.ts';
import { PASSWORD_CODES, revokeCodes } from '../../messages/mail/codes.ts';
import { type AppendedEvent, appendEvent } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError, type ErrorId } from '../../platform/errors.ts';
import { ensureOwnerRemains } from '../members.ts';
import { revokeLogins } from '../revocation.ts';
import { hasFailedLogins } from '../sign-in-events.ts';
import type { User } from './store.ts';

interface Transition {
  operation: OperationId;
  from: readonly UserState[];
  to: UserState;
  event: string;
}

export const TRANSITIONS = {
  deactivate: {
    operation: 'deactivateUser',
    from: ['active', 'initial', 'locked'],
    to: 'inactive',
    event: 'user.deactivated',
  },
  reactivate: { operation: 'reactivateUser', from: ['inactive'], to: 'active', event: 'user.reactivated' },
  lock: { operation: 'lockUser', from: ['active', 'initial'], to: 'locked', event: 'user.locked' },
  unlock: { operation: 'unlockUser', from: ['locked'], to: 'active', event: 'user.unlocked' },
} as const satisfies Record<string, Transition>;

export type StateChange = keyof typeof TRANSITIONS;

// A user who was stopped before they set their first password must still set it: the code of that mail is then open.
const UPDATE = `
update users u set sequence = $2, changed_at = $3,
  attempts_since = case when $4::user_state = 'active' then $3 else u.attempts_since end,
  state = case
    when $4::user_state = 'active' and u.state <> 'active' and u.password_hash is null and exists (
      select from codes c where c.user_id = u.id and c.purpose = 'initialise' and c.used_at is null) then 'initial'
    else $4::user_state end
where id = $1 and state = $5`;

/**
 * Changes the state of a user whose row is locked by the caller's transaction.
 * @throws ApiError 400 USER-STATE-… with the current state if it does not allow the change; MEMBER-LAST-OWNER for the
 *   last active IAM_OWNER
 */
export async function changeState(
  { db, secrets }: { db: Db; secrets: Secrets },
  user: User,
  change: StateChange,
  editor: string,
): Promise<AppendedEvent> {
  const { from, to, event: type } = TRANSITIONS[change];
  // Of an active user, `unlock` ends the delays and timed locks that failed logins cause.
  const endsLocks = change === 'unlock' && user.state === 'active' && (await hasFailedLogins(db, secrets, user.id));
  if (!endsLocks && !isOneOf(user.state, from)) throw wrongState(user.state, change);
  if (to !== 'active') await ensureOwnerRemains(db, { userId: user.id });
  const { id: aggregateId, orgId: resourceOwner } = user;
  const event = await appendEvent(db, { aggregateType: 'user', aggregateId, resourceOwner, type, editor });
  const { rowCount } = await db.query(UPDATE, [user.id, event.sequence, event.createdAt, to, user.state]);
  if (!rowCount) throw wrongState(user.state, change);
  if (to !== 'active') await revokeLogins(db, user.id);
  return event;
}

function isOneOf(state: UserState, states: readonly UserState[]): boolean {
  return states.includes(state);
}

const WRONG_STATE = {
  active: 'USER-STATE-ACTIVE',
  inactive: 'USER-STATE-INACTIVE',
  locked: 'USER-STATE-LOCKED',
  initial: 'USER-STATE-INITIAL',
} as const satisfies Record<UserState, ErrorId>;

function wrongState(state: UserState, change: StateChange): ApiError {
  const fitting = TRANSITIONS[change].from.map((s) => s.toUpperCase()).join(' or ');
  const message = `The user is ${state.toUpperCase()}. To ${change} a user, the state must be ${fitting}.`;
  return new ApiError('FAILED_PRECONDITION', WRONG_STATE[state], message);
}

/**
 * Leaves the user, whose row is locked, out of mail codes, or lets the login policy decide again. Leaving them out ends
 * the codes that would be a way in. Without a change, there is no event.
 * @throws ApiError 400 USER-NOT-HUMAN
 */
export async function setMailCodes(
  db: Db,
  user: User,
  { allowed, editor }: { allowed: boolean; editor: string },
): Promise<AppendedEvent> {
  if (user.kind !== 'human')
    throw new ApiError('FAILED_PRECONDITION', 'USER-NOT-HUMAN', 'Only people get codes by mail.');
  if (user.withoutMailCodes !== allowed) return { sequence: user.sequence, createdAt: user.changedAt };
  const type = allowed ? 'user.human.mail.codes.allowed' : 'user.human.mail.codes.refused';
  const { id: aggregateId, orgId: resourceOwner } = user;
  const event = await appendEvent(db, { aggregateType: 'user', aggregateId, resourceOwner, type, editor });
  const text = 'update users set sequence = $2, changed_at = $3, without_mail_codes = $4 where id = $1';
  await db.query(text, [user.id, event.sequence, event.createdAt, !allowed]);
  if (!allowed) await revokeCodes(db, user.id, [...PASSWORD_CODES, 'sign_in', 'sign_in_text']);
  return event;
}
