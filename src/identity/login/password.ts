/**
 * Checks the password of a login, against its hash or at the user's password source. After the first successful login
 * it replaces an outdated hash, and hashes a password that the source has verified.
 * On crash: before the new hash is stored, the next successful login creates it.
 */
import { loggable } from '../../logger.ts';
import { adoptPassword, verifyAtSource } from '../../password-sources/sign-in.ts';
import { sourceOf } from '../../passwords/at-source.ts';
import { bareHash, pepperedOf } from '../../passwords/pepper.ts';
import { rememberSlowHash } from '../../users/slow-hashes.ts';
import { CLOCK } from './clock.ts';
import type { Attempt } from './counted.ts';
import type { LoginDeps } from './deps.ts';
import { checkPeppered } from './peppered.ts';
import { type Login, mayMeanAnother, replaceHash } from './store.ts';

export interface CheckedPassword {
  ok: boolean;
  rehash: boolean;
  /** The password source says that the user has to choose a new password. */
  mustChange?: boolean;
  /** Milliseconds that the check waited for a thread. */
  waitedMs: number;
}

/**
 * Does the work of one password check, whether or not there is a hash to compare with.
 *
 * Guarantee: a password source gets no password that may be that of a user of another organization, as a hash would keep
 * it secret.
 * @param tried who somebody tries to log in as
 */
export async function checkPassword(
  deps: LoginDeps,
  login: Login | undefined,
  password: string,
  { user: tried, gone }: Pick<Attempt, 'user' | 'gone'>,
): Promise<CheckedPassword> {
  const { hasher, pool, clock = CLOCK } = deps;
  const asked = clock.now();
  let waitedMs = 0;
  const started = () => {
    waitedMs = clock.now() - asked;
  };
  const sourceId = sourceOf(login?.passwordHash);
  if (login?.state === 'active' && sourceId !== undefined && !(await mayMeanAnother(pool, tried, login))) {
    const verified = await verifyAtSource(deps, { userId: login.id, sourceId, password }, gone, started);
    if (verified) return { ...verified, rehash: verified.ok, waitedMs };
  }
  if (!login?.passwordHash || sourceId !== undefined) {
    await hasher.verifyNothing(password, gone, started);
    return { ok: false, rehash: false, waitedMs };
  }
  const peppered = pepperedOf(login.passwordHash);
  const checked = peppered
    ? await checkPeppered(deps, peppered, password, gone, started)
    : await hasher.verify(login.passwordHash, password, gone, started);
  if (!checked.ok) await rememberSlowHash(pool, bareHash(login.passwordHash));
  return { ...checked, waitedMs };
}

/** The login succeeds whether or not the new hash can be stored now. */
export async function renewHash(
  { pool, hasher, logger }: LoginDeps,
  login: Login,
  { password, mustChange = false }: { password: string; mustChange?: boolean | undefined },
): Promise<void> {
  const sourceId = sourceOf(login.passwordHash);
  try {
    const hash = await hasher.hash(password);
    if (sourceId === undefined) await replaceHash(pool, login.id, login.passwordHash ?? '', hash);
    else await adoptPassword(pool, { id: login.id, orgId: login.orgId, sourceId }, { hash, mustChange });
  } catch (error) {
    logger.warn({ userId: login.id, err: loggable(error) }, 'password could not be rehashed');
  }
}
