/**
 * Signs somebody in with a passkey alone: without name and password.
 *
 * Guarantee: the authenticator has verified the user, so a passkey counts as two factors. Failures count like failures
 * of logins. Anything specific to the user is revealed only after a right answer. A passkey whose count of signatures
 * did not grow signs nobody in, and is logged: it may have been copied. A passkey that an import brought proves its holder,
 * but no address: who has not signed in before becomes active, and what others began on the account ends.
 */
import { recordPasskeyFailure, type SignInFailure } from '../../directory/sign-in-events.ts';
import { findUser, stateNow } from '../../directory/users/store.ts';
import { type Pool, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import type { RelyingPartyConfig } from '../../platform/relying-party.ts';
import { countedAttempt } from '../login/attempts.ts';
import { type CheckedLogin, concludeByPasskey, type PasswordProof, requireActive } from '../login/check.ts';
import type { LoginDeps, Origin } from '../login/origin.ts';
import { findLogin, type Login } from '../login/store.ts';
import { claimBy } from '../providers/claim.ts';
import { type Assertion, type CeremonyOf, claimedPasskey, verifyAssertion } from '../webauthn/ceremony.ts';
import { mayUsePasskey, type Passkey, usePasskey } from '../webauthn/store.ts';

export type PasskeyDeps = LoginDeps & { config: RelyingPartyConfig };

/**
 * Checks an attempt to log in.
 * @param answer of `navigator.credentials.get`, as JSON
 * @param proven called with the proof of the right answer, before anything else is checked
 * @throws ApiError 400 SESSION-PASSKEY; after the right answer SESSION-USER-LOCKED, -INACTIVE; 429 SESSION-FAILURES,
 *   SESSION-ATTEMPTS
 */
export async function checkByPasskey(
  deps: PasskeyDeps,
  { answer, of, userId }: { answer: unknown; of: CeremonyOf; userId?: string },
  origin: Origin,
  proven?: (by: PasswordProof) => void,
): Promise<CheckedLogin> {
  const claimed = await claimedPasskey(deps, answer);
  const isOther = userId !== undefined && claimed?.passkey.userId !== userId;
  if (!claimed?.passkey.passwordless || isOther) return refuse(deps, 'unknown_passkey');
  const { passkey } = claimed;
  const attempt = { ...origin, user: { userId: passkey.userId } };
  return countedAttempt(deps, attempt, async ({ failed, passed }) => {
    const assertion = await verifyAssertion(deps, claimed, of, true);
    if (!assertion) {
      await failed('passkey', 0);
      throw wrongPasskey();
    }
    const entered = await enter(deps.pool, passkey, assertion);
    if (entered === 'fell') {
      const counts = { stored: passkey.signCount, sent: assertion.signCount };
      deps.logger.warn({ userId: passkey.userId, ...counts }, 'the count of a passkey did not grow: it may be a copy');
      await failed('passkey_count', 0);
      throw wrongPasskey();
    }
    if (entered === undefined) return refuse(deps, 'passkeys_off', passkey.userId);
    proven?.({ id: entered.id, passwordSetAt: entered.passwordSetAt });
    requireActive(entered.state);
    return concludeByPasskey(entered, passed);
  });
}

/** @returns the login as it is then; undefined where the policy allows no passkeys, or the user is gone */
function enter(
  pool: Pool,
  { userId, credentialId }: Passkey,
  { signCount, backedUp }: Assertion,
): Promise<Login | 'fell' | undefined> {
  return transaction(pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (!user || !(await mayUsePasskey(db, userId))) return undefined;
    if (!(await usePasskey(db, { credentialId, signCount, backedUp }))) return 'fell';
    if (stateNow(user) === 'initial') await claimBy(db, user, { verifies: false, payload: { way: 'passkey' } });
    return findLogin(db, { userId });
  });
}

async function refuse({ pool }: PasskeyDeps, reason: SignInFailure, userId?: string): Promise<never> {
  await recordPasskeyFailure(pool, reason, userId);
  throw wrongPasskey();
}

/** The id of the error for every passkey that signs nobody in. */
export const WRONG_PASSKEY = 'SESSION-PASSKEY';

export function wrongPasskey(): ApiError {
  return new ApiError('INVALID_ARGUMENT', WRONG_PASSKEY, 'The passkey was not accepted.');
}
