/**
 * Runs one attempt to log in: in turn, after its delay, and counted.
 *
 * Guarantee: attempts of one name or id from one network follow each other, with all their delays; those from another
 * network do not wait for them. While locked, nothing is checked: a right password and a wrong one get the same answer.
 * No database connection is held while an attempt waits.
 *
 * On crash: the attempt stays counted as failed.
 */
import { ApiError } from '../../errors.ts';
import { slowestMs } from '../../users/slow-hashes.ts';
import { answerAfterMs } from './answer-time.ts';
import { recordFailed, recordLocked, recordRefused, type WrongPart } from './audit.ts';
import { CLOCK } from './clock.ts';
import { isLocking, LONGEST_DELAY_MS, type Place, takeBack, takePlace } from './delays.ts';
import type { LoginDeps } from './deps.ts';
import { type AttemptKeys, attemptKeys, type UserKeys, userKeys } from './keys.ts';
import type { Origin } from './origin.ts';
import { settleLogin } from './settle.ts';
import { findLogin, type Login, type LoginUser } from './store.ts';
import { inTurn } from './turns.ts';

/** Who somebody tries to log in as, and from where. */
export interface Attempt extends Origin {
  user: LoginUser;
}

export interface Counted {
  login: Login | undefined;
  /** Runs one check of the user's password at a time. */
  alone<T>(check: () => Promise<T>): Promise<T>;
  /**
   * The attempt has failed; returns when it is time to say so, and the audit event is stored.
   * @param waitedMs how long the check of a password waited for a thread; absent for a code, whose time tells nothing
   */
  failed(wrong: WrongPart, waitedMs?: number): Promise<void>;
  /** All secrets of the user were right: the result of `settleLogin`. If it is `active`, failures before are forgotten. */
  passed(login: Login, hasCode?: boolean): ReturnType<typeof settleLogin>;
}

/**
 * The result of `check`, which calls `failed` for a wrong password or code, or `passed`. If it throws without `failed`,
 * the attempt does not count.
 * @throws ApiError 429 SESSION-FAILURES, SESSION-ATTEMPTS; what `check` throws
 */
export async function countedAttempt<T>(
  deps: LoginDeps,
  attempt: Attempt,
  check: (counted: Counted) => Promise<T>,
): Promise<T> {
  const keys = attemptKeys(deps.secrets, attempt.user, attempt);
  const run = async () => {
    const begun = await begin(deps, attempt, keys);
    const { login } = begun;
    const key = login ? `check ${login.id}` : `check unknown ${keys.everywhere}`;
    const alone: Counted['alone'] = (work) => inTurn(key, work, attempt.gone);
    const passed: Counted['passed'] = (found, hasCode) => settleLogin(deps.pool, found, hasCode, begun);
    return settle(deps, attempt, begun, (failed) => check({ login, alone, failed, passed }));
  };
  return inTurn(`attempt ${keys.here}`, run, attempt.gone);
}

interface Begun {
  keys: AttemptKeys;
  login: Login | undefined;
  user: UserKeys;
  place: Place;
  /** When the user was looked up, by the clock. */
  began: number;
}

/** Waits for the delay; then the attempt is counted as failed. */
async function begin(
  { pool, secrets, config, clock = CLOCK }: LoginDeps,
  attempt: Attempt,
  keys: AttemptKeys,
): Promise<Begun> {
  for (;;) {
    const began = clock.now();
    const login = await findLogin(pool, attempt.user);
    const user = userKeys(secrets, login?.id, attempt);
    const place = await takePlace(pool, config, keys, user);
    if (place.waitMs === 0) return { keys, login, user, place, began };
    if (place.waitMs > LONGEST_DELAY_MS) {
      await recordLocked(pool, { user: attempt.user, login });
      throw tooManyFailures(place.waitMs);
    }
    await clock.sleep(place.waitMs);
    attempt.gone?.throwIfAborted();
  }
}

async function settle<T>(
  deps: LoginDeps,
  attempt: Attempt,
  { keys, login, place, began }: Begun,
  check: (failed: Counted['failed']) => Promise<T>,
): Promise<T> {
  const { pool, config, logger } = deps;
  const tried = { user: attempt.user, login };
  let hasFailed = false;
  try {
    return await check(async (wrong, waitedMs) => {
      hasFailed = true;
      const locks = isLocking(place, config);
      // One line in some seconds, with the number of locks since (src/repeats.ts).
      if (locks) logger.warn({ reason: 'failed attempts' }, 'login locked for a time');
      const recorded = recordFailed(pool, tried, wrong, locks);
      await Promise.all([recorded, waitedMs === undefined ? undefined : untilAnswer(deps, began + waitedMs)]);
    });
  } catch (error) {
    if (!hasFailed) await takeBack(pool, keys, place);
    if (!hasFailed) await recordRefused(pool, tried, error);
    throw error;
  }
}

async function untilAnswer({ pool, hasher, config, clock = CLOCK }: LoginDeps, since: number): Promise<void> {
  if (config.LOGIN_DELAY_MS === 0) return;
  const load = { slowestMs: await slowestMs(pool), slowness: hasher.slowness() };
  const spentMs = clock.now() - since;
  await clock.sleep(answerAfterMs(spentMs, load, config.LOGIN_DELAY_MS) - spentMs);
}

/** The same for right and wrong passwords, and for known and unknown users. */
function tooManyFailures(waitMs: number): ApiError {
  const retryAfterS = Math.ceil(waitMs / 1000);
  const message = `Too many failed attempts to log in as this user. Try again in ${retryAfterS} seconds.`;
  return new ApiError('RESOURCE_EXHAUSTED', 'SESSION-FAILURES', message, { retryAfterS });
}
