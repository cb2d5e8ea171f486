/**
 * The code of a login.
 *
 * Guarantee: a code is good once, however many ask at the same time, and none is good that is older than one used before
 * (RFC 6238 section 5.2). A try is spent before a code is looked at, so that many at once are no way around the limit
 * (RFC 4226 section 7.3); beyond it a right code is wrong too, until the tries have rested. The login that asks delays
 * and locks besides; this limit holds where nobody is locked, too.
 * If we die after a code was used and before its login was answered, the next code is 30 seconds away.
 */
import type { Db } from '../../db/pool.ts';
import type { Secrets } from '../../secrets.ts';
import { stepOfCode, TOTP_SEAL } from './secret.ts';
import { spendTry, useStep } from './store.ts';

/**
 * Whether the code is good now, for a user with an active factor; it is used up by that.
 * @param code as it was typed
 * @param now milliseconds since 1970
 */
export async function checkTotp(
  { pool, secrets }: { pool: Db; secrets: Secrets },
  userId: string,
  code: string,
  now: number = Date.now(),
): Promise<boolean> {
  const sealed = await spendTry(pool, userId);
  if (sealed === undefined) return false;
  const step = stepOfCode(secrets.unseal(sealed, TOTP_SEAL), code, now);
  return step !== undefined && useStep(pool, userId, sealed, step);
}
