/**
 * Handles a failed login before it is answered: counts it, delays the answer, and locks the user after too many.
 *
 * Guarantee: no database connection is held during the delay, and the time of the answer does not reveal a lock.
 *
 * On crash: the failure may or may not be counted; a lock that was due follows with the next failure.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoginDeps } from './deps.ts';
import { countFailure, failureDelayMs } from './failures.ts';
import { lockAfterFailures } from './lock.ts';
import type { Login, LoginUser } from './store.ts';

/** A wrong password is answered after a multiple of this many delays: longer than the check of common hashes takes. */
const STEP_DELAYS = 5;

/**
 * Returns when it is time to answer.
 * @param began when the password check began, by `performance.now()`: imported hashes take longer than the check for an
 *   unknown user, and the time of the answer must not reveal that; absent where it reveals nothing
 */
export async function settleFailure(
  deps: LoginDeps,
  typed: LoginUser,
  login: Login | undefined,
  began?: number,
): Promise<void> {
  const { pool, config } = deps;
  const known = login?.passwordHash ? login : undefined;
  const failures = await countFailure(pool, typed, known?.id);
  const limit = config.LOCK_AFTER_FAILURES;
  const isTooMany = known?.state === 'active' && limit > 0 && failures.user >= limit;
  await Promise.all([
    sleep(failureDelayMs(failures.typed, config.LOGIN_DELAY_MS) + untilStepMs(began, config.LOGIN_DELAY_MS)),
    isTooMany ? lockOut(deps, known) : undefined,
  ]);
}

function untilStepMs(began: number | undefined, delayMs: number): number {
  if (began === undefined || delayMs === 0) return 0;
  const step = STEP_DELAYS * delayMs;
  return step - ((performance.now() - began) % step);
}

async function lockOut({ pool, config, logger }: LoginDeps, login: Login): Promise<void> {
  if (await lockAfterFailures(pool, login.id, config.LOCK_AFTER_FAILURES)) {
    logger.warn({ userId: login.id }, 'user locked after failed logins');
  }
}
