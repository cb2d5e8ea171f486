/**
 * Checks the one-time password of a login.
 *
 * Guarantee: a code is accepted once, however many requests send it at the same time, and never after a later one was
 * used (RFC 6238 section 5.2). An attempt is counted before the code is checked, so parallel requests cannot exceed the
 * limit (RFC 4226 section 7.3); beyond the limit even a right code is refused until the cool-down has passed. The login
 * itself also delays answers and locks users; this limit applies even where locking is off.
 *
 * On crash: after a code was used and before the login was answered, the user needs the next code, 30 seconds later.
 */
import type { Config } from '../../config.ts';
import type { Db } from '../../db/pool.ts';
import type { Secrets } from '../../secrets.ts';
import { stepOfCode, TOTP_SEAL } from './secret.ts';
import { spendTry, useStep } from './store.ts';

/**
 * Whether the code is valid now for a user with an active factor; a valid code is consumed.
 * @param code as the user typed it
 * @param now milliseconds since 1970
 */
export async function checkTotp(
  { pool, secrets, config }: { pool: Db; secrets: Secrets; config: Pick<Config, 'TOTP_WINDOW'> },
  userId: string,
  code: string,
  now: number = Date.now(),
): Promise<boolean> {
  const sealed = await spendTry(pool, userId);
  if (sealed === undefined) return false;
  const step = stepOfCode(secrets.unseal(sealed, TOTP_SEAL), code, now, config.TOTP_WINDOW);
  return step !== undefined && useStep(pool, userId, sealed, step);
}
