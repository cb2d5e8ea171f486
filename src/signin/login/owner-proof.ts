/**
 * Proof that the caller owns the account, before a change of what protects it: the second factor, the email address,
 * the phone number, the password. An access token alone is no proof, as it may be stolen.
 *
 * Guarantee: the caller has signed in within the last RECENT_S seconds, or knows the current password. Wrong passwords
 * count as failed logins. Only people have to prove it, and only for their own account: programs have no password, and
 * managers act on others by their role.
 */
import type { Caller } from '../../contract/permissions.ts';
import type { User } from '../../directory/users/store.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { requireNoLostFactor } from '../factors/lost.ts';
import { verifyOwnPassword } from './check.ts';
import type { LoginDeps, Origin } from './origin.ts';

/** How long a sign-in counts as recent, in seconds. */
export const RECENT_S = 5 * 60;

/**
 * @param user whom the caller wants to change
 * @param password the `currentPassword` of the request; count the request as an attempt (`countTry`) if it has one
 * @param mailedCode of the request, for users whose second factor an import lost (../factors/lost.ts)
 * @throws ApiError 401 AUTH-SIGN-IN-AGAIN, 400 PASSWORD-CURRENT, FACTOR-LOST, CODE-INVALID, 429 SESSION-FAILURES
 */
export async function requireOwnerProof(
  deps: LoginDeps,
  caller: Caller,
  user: Pick<User, 'id' | 'kind'>,
  origin: Origin,
  password: string | undefined,
  mailedCode?: string | undefined,
): Promise<void> {
  if (user.id !== caller.userId || user.kind !== 'human') return;
  await requireSignInProof(deps, caller, user, origin, password);
  await requireNoLostFactor(deps, user.id, { mailedCode, givesPassword: password !== undefined });
}

/** The part of `requireOwnerProof` that is enough for what keeps nobody out of their account. */
export async function requireSignInProof(
  deps: LoginDeps,
  caller: Caller,
  user: Pick<User, 'id' | 'kind'>,
  origin: Origin,
  password: string | undefined,
): Promise<void> {
  if (user.id !== caller.userId || user.kind !== 'human') return;
  if (password === undefined) return requireRecentSignIn(caller);
  if (!(await verifyOwnPassword(deps, user.id, password, origin))) throw wrongPassword();
}

/** @throws ApiError 401 AUTH-SIGN-IN-AGAIN */
function requireRecentSignIn({ signedInAt = 0 }: Caller): void {
  if (Date.now() / 1000 - signedInAt <= RECENT_S) return;
  const minutes = RECENT_S / 60;
  const message =
    `This change needs a sign-in within the last ${minutes} minutes, or the current password. ` +
    'Let the user sign in again with max_age, or send the field currentPassword.';
  const challenge =
    'Bearer error="insufficient_user_authentication", ' +
    `error_description="More recent authentication is required", max_age="${RECENT_S}"`;
  throw new ApiError('UNAUTHENTICATED', 'AUTH-SIGN-IN-AGAIN', message, { challenge });
}

/** The error for a wrong current password. */
export function wrongPassword(): ApiError {
  return invalidArgument('PASSWORD-CURRENT', 'The current password is wrong.');
}
