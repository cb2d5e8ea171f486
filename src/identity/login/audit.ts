/** Records attempts to log in that fail as audit events. */
import { recordFailedSignIn, recordSignInLock, type SignInFailure } from '../../audit/sign-ins.ts';
import type { Db } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import type { Login, LoginUser } from './store.ts';

/** What somebody entered, and the user that it belongs to. */
export interface Tried {
  user: LoginUser;
  login: Login | undefined;
}

export type WrongPart = 'password' | 'code';

/** @param locks whether further attempts are now locked for a time */
export async function recordFailed(db: Db, { user, login }: Tried, wrong: WrongPart, locks: boolean): Promise<void> {
  await recordFailedSignIn(db, reasonOf(wrong, login), login, user);
  if (locks) await recordSignInLock(db, login, user);
}

/** An attempt that is not checked, as earlier failures have locked it. */
export async function recordLocked(db: Db, { user, login }: Tried): Promise<void> {
  await recordFailedSignIn(db, 'locked_for_a_time', login, user);
}

const REFUSALS: Readonly<Record<string, SignInFailure>> = {
  'SESSION-USER-LOCKED': 'user_locked',
  'SESSION-USER-INACTIVE': 'user_inactive',
  'SESSION-USER-INITIAL': 'user_initial',
};

/** The password was right, but the state of the user does not allow the login; other errors are no failed logins. */
export async function recordRefused(db: Db, { user, login }: Tried, error: unknown): Promise<void> {
  const reason = error instanceof ApiError ? REFUSALS[error.id] : undefined;
  if (reason) await recordFailedSignIn(db, reason, login, user);
}

function reasonOf(wrong: WrongPart, login: Login | undefined): SignInFailure {
  if (!login) return 'unknown_user';
  if (wrong === 'code') return 'wrong_code';
  return login.passwordHash ? 'wrong_password' : 'no_password';
}
