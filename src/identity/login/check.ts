/**
 * Checks a login: password, second factor, state. Sessions, the login page and users' own password changes share it,
 * and so share the count of failures.
 *
 * Guarantee: an unknown user, one whom the caller may not log in, a wrong password and a user without a password (every
 * machine) give the same error after the same work and delay. Anything specific to the user is revealed only after the right
 * password. The login fails if the user was locked, deleted or given another password during the check.
 *
 * On crash: at most a failure was counted or a code consumed.
 */
import { ApiError } from '../../errors.ts';
import { passwordAge } from '../../policies/age.ts';
import type { UserState } from '../../users/store.ts';
import { checkTotp } from '../totp/check.ts';
import { hasTotp } from '../totp/store.ts';
import type { LoginDeps } from './deps.ts';
import { settleFailure } from './fail.ts';
import { checkPassword, renewHash } from './password.ts';
import { findLogin, type Login, type LoginUser, settleLogin } from './store.ts';
import { inTurn } from './turns.ts';

export type { LoginDeps } from './deps.ts';
/** Proof that exactly this password of the user was right. */
export type PasswordProof = Pick<Login, 'id' | 'passwordSetAt'>;

export interface CheckedLogin {
  id: string;
  orgId: string;
  loginName: string;
  displayName: string;
  /** Why a new password must be set before anything else; `expired` takes precedence. */
  mustChange: 'required' | 'expired' | undefined;
  /** Whole days until the password expires; set only within the policy's warning period. */
  expiresInDays: number | undefined;
  /** Identifies the password; see `PasswordProof`. */
  passwordSetAt: string | null;
  /** Authentication methods (RFC 8176): `pwd`, and `otp` and `mfa` if a one-time password was checked. */
  amr: string[];
}

export interface LoginSecrets {
  password: string;
  /** The code of the second factor; empty counts as none. */
  totp?: string | undefined;
  /** Aborted when the caller has gone: a check that has not begun is dropped. */
  gone?: AbortSignal;
}

/**
 * @param allow called with the user after the right password, before anything else is revealed; throws to refuse
 * @throws ApiError 400 SESSION-CREDENTIALS; after the right password SESSION-USER-LOCKED, -INACTIVE, -INITIAL,
 *   SESSION-TOTP-REQUIRED, SESSION-TOTP; 429 SESSION-ATTEMPTS, 503 PASSWORDS-BUSY
 */
export async function checkLogin(
  deps: LoginDeps,
  who: LoginUser,
  secrets: LoginSecrets,
  allow?: (login: Pick<Login, 'id' | 'orgId' | 'passwordSetAt'>) => void,
): Promise<CheckedLogin> {
  const began = performance.now();
  const login = await findLogin(deps.pool, who);
  const { password, gone } = secrets;
  const check = () => checkPassword(deps.hasher, login, password, gone);
  const { ok, rehash } = await inTurn(who, login, check, gone);
  if (!login || !ok) {
    await settleFailure(deps, who, login, began);
    throw wrongCredentials();
  }
  allow?.(login);
  requireActive(login.state);
  if (rehash) await renewHash(deps, login, password);
  return settle(deps, who, login, secrets.totp);
}

/**
 * The rest of a login whose password was checked just before, without asking for it again.
 * @param by from the user that `allow` was called with
 * @throws ApiError 400 as `checkLogin`; SESSION-CREDENTIALS when the password has been changed since
 */
export async function checkAfterPassword(deps: LoginDeps, by: PasswordProof, totp?: string): Promise<CheckedLogin> {
  const who = { userId: by.id };
  const login = await findLogin(deps.pool, who);
  if (!login || login.passwordSetAt !== by.passwordSetAt) throw wrongCredentials();
  requireActive(login.state);
  return settle(deps, who, login, totp);
}

async function settle(deps: LoginDeps, who: LoginUser, login: Login, totp: string | undefined): Promise<CheckedLogin> {
  const amr = ['pwd', ...(await checkSecondFactor(deps, who, login, totp))];
  requireActive(await settleLogin(deps.pool, login));
  return { ...outcome(login), amr };
}

/**
 * Whether `password` is that of the user and the user is active. Failures count like those of logins, so nobody can
 * guess the password with a stolen token.
 */
export async function verifyOwnPassword(deps: LoginDeps, userId: string, password: string): Promise<boolean> {
  const began = performance.now();
  const login = await findLogin(deps.pool, { userId });
  const { ok } = await inTurn({ userId }, login, () => checkPassword(deps.hasher, login, password));
  if (login && ok) return (await settleLogin(deps.pool, login)) === 'active';
  await settleFailure(deps, { userId }, login, began);
  return false;
}

async function checkSecondFactor(
  deps: LoginDeps,
  who: LoginUser,
  login: Login,
  code: string | undefined,
): Promise<string[]> {
  if (code) {
    if (await checkTotp(deps, login.id, code)) return ['otp', 'mfa'];
    await settleFailure(deps, who, login);
    throw new ApiError('INVALID_ARGUMENT', 'SESSION-TOTP', 'The code is wrong.');
  }
  if (!(await hasTotp(deps.pool, login.id))) return [];
  throw new ApiError('FAILED_PRECONDITION', 'SESSION-TOTP-REQUIRED', 'The code of the second factor is required too.');
}

function outcome(login: Login): Omit<CheckedLogin, 'amr'> {
  const { id, orgId, loginName, displayName, changeRequired, passwordSetAt } = login;
  const { isExpired, expiresInDays } = passwordAge(login, login.passwordAgeDays);
  const mustChange = isExpired ? 'expired' : changeRequired ? 'required' : undefined;
  return { id, orgId, loginName, displayName, mustChange, expiresInDays, passwordSetAt };
}

function requireActive(state: UserState | undefined): void {
  if (state === undefined) throw wrongCredentials();
  if (state === 'active') return;
  const why = { inactive: 'is deactivated', locked: 'is locked', initial: 'has not set a password yet' }[state];
  throw new ApiError('FAILED_PRECONDITION', `SESSION-USER-${state.toUpperCase()}`, `The user ${why}.`);
}

/** The same error for every failed login. */
export function wrongCredentials(): ApiError {
  return new ApiError('INVALID_ARGUMENT', 'SESSION-CREDENTIALS', 'The user or the password is wrong.');
}
