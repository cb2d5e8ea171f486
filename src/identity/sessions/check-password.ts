/**
 * The password check of a session.
 *
 * Guarantee: an unknown user, a wrong password, a user without a password and a name that fits several are one answer
 * after one password's worth of work. What is particular to a user is told after the right password only: a state in
 * which it cannot log in, or 403 to a caller without a role in its organization.
 * If we die between the session and the new hash, the next good login makes it.
 */
import type { Pool } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import type { UserState } from '../../users/store.ts';
import { type Caller, ORG_ROLES, requireOrgRole } from '../caller.ts';
import type { SessionUser } from './schema.ts';
import { findLogin, type Login, replaceHash } from './store.ts';

/** A user whose password was right and who may log in. */
export interface CheckedLogin extends Login {
  passwordHash: string;
  /** The hash is of yesterday's scheme or cost: call `renewHash`. */
  rehash: boolean;
}

/** @throws ApiError 400 (see the guarantee), 403 */
export async function checkPassword(
  deps: { pool: Pool; hasher: Hasher },
  caller: Caller,
  user: SessionUser,
  password: string,
): Promise<CheckedLogin> {
  const login = await findLogin(deps.pool, user);
  if (!login?.passwordHash) {
    await deps.hasher.verifyNothing(password);
    throw wrongCredentials();
  }
  const { ok, rehash } = await deps.hasher.verify(login.passwordHash, password);
  if (!ok) throw wrongCredentials();
  requireOrgRole(caller, login.orgId, ORG_ROLES);
  if (login.state !== 'active') throw cannotLogIn(login.state);
  return { ...login, passwordHash: login.passwordHash, rehash };
}

/** Stores the password by today's scheme, unless somebody changed it meanwhile. */
export async function renewHash(
  deps: { pool: Pool; hasher: Hasher },
  login: CheckedLogin,
  password: string,
): Promise<void> {
  if (login.rehash) await replaceHash(deps.pool, login.id, login.passwordHash, await deps.hasher.hash(password));
}

/** The one answer to everything that is not a login. */
export function wrongCredentials(): ApiError {
  return new ApiError('INVALID_ARGUMENT', 'SESSION-CREDENTIALS', 'The user or the password is wrong.');
}

function cannotLogIn(state: Exclude<UserState, 'active'>): ApiError {
  const why = { inactive: 'is deactivated', locked: 'is locked', initial: 'has not set a password yet' }[state];
  return new ApiError('FAILED_PRECONDITION', `SESSION-USER-${state.toUpperCase()}`, `The user ${why}.`);
}
