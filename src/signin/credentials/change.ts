/**
 * The only way to change a user's addresses and password.
 *
 * Guarantee: a change and its event are one transaction, with the user's row locked, so a code created before a change
 * of address cannot be used after it.
 */
import { permissionDenied } from '../../contract/permissions.ts';
import type { Relation, User } from '../../directory/users/store.ts';
import { ANYBODY } from '../../messages/mail/codes.ts';
import { type AppendedEvent, appendEvent, type Details, details } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { ApiError, type IdOf } from '../../platform/errors.ts';

export interface Delivery {
  isVerified?: unknown;
  returnCode?: unknown;
  sendCode?: { urlTemplate?: string | undefined } | undefined;
  sendLink?: { urlTemplate?: string | undefined } | undefined;
}

/**
 * Users may not mark their own address as verified, nor be told the code that would verify it, nor choose where the
 * link of an email leads: it may go to the address of somebody else.
 * @throws ApiError 403
 */
export function requireVouching(relation: Relation, input: Delivery): void {
  if (relation === 'manager') return;
  const template = (input.sendCode ?? input.sendLink)?.urlTemplate;
  if (input.isVerified === true || input.returnCode !== undefined || template !== undefined) throw permissionDenied();
}

/** @throws ApiError 400 `id` */
export function requireHuman(user: User, id: IdOf<'FAILED_PRECONDITION'>): void {
  if (user.kind === 'human') return;
  const message = 'Only a human user has an email address, a phone number and a password.';
  throw new ApiError('FAILED_PRECONDITION', id, message);
}

/**
 * Changes a user, whose row is locked, and appends the event.
 * @param assignments for the users row, with `values` from `$4` on; `$3` is the time of the change
 */
export async function changeUser(
  db: Db,
  user: User,
  event: { type: string; editor: string; payload?: Record<string, unknown> },
  assignments?: string,
  values: unknown[] = [],
): Promise<AppendedEvent> {
  const appended = await appendEvent(db, {
    aggregateType: 'user',
    aggregateId: user.id,
    resourceOwner: user.orgId,
    ...event,
  });
  const text = `update users set sequence = $2, changed_at = $3${assignments ? `, ${assignments}` : ''} where id = $1`;
  await db.query(text, [user.id, appended.sequence, appended.createdAt, ...values]);
  return appended;
}

/**
 * Records that a code for the user was asked for. A request of anybody is no change of the user: an import whose users
 * strangers have asked codes for can still be undone.
 */
export function recordRequest(
  db: Db,
  user: User,
  { type, editor }: { type: string; editor: string },
): Promise<AppendedEvent> {
  if (editor !== ANYBODY) return changeUser(db, user, { type, editor });
  return appendEvent(db, { aggregateType: 'user', aggregateId: user.id, resourceOwner: user.orgId, type, editor });
}

/** The result of a change of a user. */
export interface Changed {
  event: AppendedEvent;
  /** Set if the request asked to return the code. */
  verificationCode?: string | undefined;
}

/** The response body of such a change. */
export function changedAnswer(
  user: User,
  { event, verificationCode }: Changed,
): {
  details: Details;
  verificationCode?: string;
} {
  const { sequence, createdAt: changedAt } = event;
  const answer = { details: details({ sequence, changedAt, resourceOwner: user.orgId }) };
  return verificationCode === undefined ? answer : { ...answer, verificationCode };
}
