/**
 * Resets the factors of a user who has lost them, or whose device is in other hands: apps, codes by mail and text
 * message, security keys, passkeys and recovery codes go together, as each of them would let in whoever has the device.
 *
 * Guarantee: one transaction with its event, which says what was removed, and a mail to the address. The password stays.
 */
import { type Removed, removeFactors } from '../../directory/users/second-factors.ts';
import { sendNotice } from '../../messages/mail/outbox.ts';
import type { AppendedEvent } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { type FactorOwner, factorEvent } from './totp.ts';

/**
 * Removes all factors of the user, whose row is locked.
 * @returns undefined if there were none, so that nothing has changed
 */
export async function resetFactors(db: Db, user: FactorOwner, editor: string): Promise<AppendedEvent | undefined> {
  const removed = await removeFactors(db, user.id, true);
  const some = Object.entries(removed).filter(([, count]) => count > 0);
  if (some.length === 0) return undefined;
  await sendNotice(db, user, 'factors_reset', editor);
  return factorEvent(db, user, 'factors.reset', editor, Object.fromEntries(some) satisfies Partial<Removed>);
}
