/**
 * Records sign-ins: succeeded, failed, locked for a time.
 *
 * Guarantee: an event holds no password and no code. A name that belongs to nobody is recorded as it was typed, as
 * operators need it to recognize an attack, but at most `NAME_CHARS` of it.
 */
import { type AuditEvent, recordAudit } from '../db/audit.ts';
import type { Db } from '../db/pool.ts';
import { publish } from '../observations.ts';
import { requestContext } from '../request-context.ts';
import { recordFailure } from './failures.ts';

export const NAME_CHARS = 100;

interface KnownUser {
  id: string;
  /** Absent: read with the event. */
  orgId?: string;
}

/** What somebody entered. */
type Typed = { loginName: string } | { userId: string };

/** The actor is the program that signs the user in, else the user. */
export async function recordSignIn(db: Db, user: KnownUser, amr: readonly string[]): Promise<void> {
  await recordAudit(db, signInEvent(user, amr));
  publish('signIn', 'succeeded');
}

/** The event of `recordSignIn`, for a statement that also does something else. */
export function signInEvent(user: KnownUser, amr: readonly string[]): AuditEvent {
  const actor = requestContext()?.userId ?? user.id;
  return { type: 'user.signin.succeeded', actor, userId: user.id, orgId: user.orgId, payload: { amr } };
}

/** Why a sign-in failed. */
export const SIGN_IN_FAILURES = [
  'unknown_user',
  'no_password',
  'wrong_password',
  'wrong_code',
  'password_expired',
  'factor_missing',
  'user_locked',
  'user_inactive',
  'user_initial',
  'locked_for_a_time',
] as const;
export type SignInFailure = (typeof SIGN_IN_FAILURES)[number];

/** @param typed the name or id that was entered */
export async function recordFailedSignIn(
  db: Db,
  reason: SignInFailure,
  user: KnownUser | undefined,
  typed: Typed,
): Promise<void> {
  const of = user ? { userId: user.id, orgId: user.orgId } : {};
  const payload = user ? { reason } : { reason, ...bounded(typed) };
  await recordFailure(db, { type: 'user.signin.failed', ...of, payload });
  publish('signIn', reason);
}

/** A failure after which further sign-ins are refused for a time. */
export async function recordSignInLock(db: Db, user: KnownUser | undefined, typed: Typed): Promise<void> {
  const of = user ? { userId: user.id, orgId: user.orgId } : {};
  const payload = { reason: 'failed_signins', ...(user ? {} : bounded(typed)) };
  await recordFailure(db, { type: 'user.signin.locked', ...of, payload });
}

function bounded(typed: Typed): Record<string, string> {
  const cut = (text: string) => [...text].slice(0, NAME_CHARS).join('');
  return 'userId' in typed ? { userId: cut(typed.userId) } : { loginName: cut(typed.loginName) };
}
