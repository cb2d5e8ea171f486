/**
 * Checks the password of a login, and replaces an outdated hash after the first successful login.
 * On crash: before the new hash is stored, the next successful login creates it.
 */
import { loggable } from '../../logger.ts';
import { rememberSlowHash } from '../../users/slow-hashes.ts';
import { CLOCK } from './clock.ts';
import type { LoginDeps } from './deps.ts';
import { type Login, replaceHash } from './store.ts';

export interface CheckedPassword {
  ok: boolean;
  rehash: boolean;
  /** Milliseconds that the check waited for a thread. */
  waitedMs: number;
}

/** Does the work of one password check, whether or not there is a hash to compare with. */
export async function checkPassword(
  { hasher, pool, clock = CLOCK }: LoginDeps,
  login: Login | undefined,
  password: string,
  gone?: AbortSignal,
): Promise<CheckedPassword> {
  const asked = clock.now();
  let waitedMs = 0;
  const started = () => {
    waitedMs = clock.now() - asked;
  };
  if (!login?.passwordHash) {
    await hasher.verifyNothing(password, gone, started);
    return { ok: false, rehash: false, waitedMs };
  }
  const checked = await hasher.verify(login.passwordHash, password, gone, started);
  if (!checked.ok) await rememberSlowHash(pool, login.passwordHash);
  return { ...checked, waitedMs };
}

/** The login succeeds whether or not the new hash can be stored now. */
export async function renewHash({ pool, hasher, logger }: LoginDeps, login: Login, password: string): Promise<void> {
  try {
    await replaceHash(pool, login.id, login.passwordHash ?? '', await hasher.hash(password));
  } catch (error) {
    logger.warn({ userId: login.id, err: loggable(error) }, 'password could not be rehashed');
  }
}
