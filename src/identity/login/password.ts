/**
 * Checks the password of a login, and replaces an outdated hash after the first successful login.
 * On crash: before the new hash is stored, the next successful login creates it.
 */
import { loggable } from '../../logger.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import type { LoginDeps } from './deps.ts';
import { type Login, replaceHash } from './store.ts';

/** Does the work of one password check, whether or not there is a hash to compare with. */
export async function checkPassword(
  hasher: Hasher,
  login: Login | undefined,
  password: string,
  gone?: AbortSignal,
): Promise<{ ok: boolean; rehash: boolean }> {
  if (login?.passwordHash) return hasher.verify(login.passwordHash, password, gone);
  await hasher.verifyNothing(password, gone);
  return { ok: false, rehash: false };
}

/** The login succeeds whether or not the new hash can be stored now. */
export async function renewHash({ pool, hasher, logger }: LoginDeps, login: Login, password: string): Promise<void> {
  try {
    await replaceHash(pool, login.id, login.passwordHash ?? '', await hasher.hash(password));
  } catch (error) {
    logger.warn({ userId: login.id, err: loggable(error) }, 'password could not be rehashed');
  }
}
