/**
 * The recovery codes of a user: makes new ones, checks one in place of a second factor, and removes them.
 *
 * Guarantee: a code is accepted once, however many requests send it at the same time: the list that is left replaces
 * exactly the list that was read. Codes alone are no second factor: they are accepted only from a user who has one. The
 * codes are in no log, event or table in clear. Each change is one transaction with its event and a mail to the address.
 */
import {
  findRecovery,
  hasSecondFactor,
  putRecovery,
  removeRecovery,
  useRecovery,
} from '../../directory/users/second-factors.ts';
import { sendNotice } from '../../messages/mail/outbox.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import { newRecoveryCodes, RECOVERY_PURPOSE, withoutCode } from '../../passwords/recovery-codes.ts';
import { type AppendedEvent, SYSTEM } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { type FactorOwner, factorEvent, notHuman, ownerOf } from './totp.ts';

/** Requests that use other codes of the user meanwhile; the tries are counted, so there are few. */
const MOST_ROUNDS = 10;

/** Whether the code is right; it is used up. @param typed by the user @returns how many are left */
export async function useRecoveryCode(
  { pool, secrets, hasher }: { pool: Pool; secrets: Secrets; hasher: Pick<Hasher, 'verify'> },
  userId: string,
  typed: string,
): Promise<{ ok: boolean; left?: number }> {
  if (!(await hasSecondFactor(pool, userId))) return { ok: false };
  const verify = async (hash: string, plain: string) => (await hasher.verify(hash, plain)).ok;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const before = await findRecovery(pool, userId);
    const rest = before && (await withoutCode(secrets.unseal(before, RECOVERY_PURPOSE), typed, verify));
    if (!before || !rest) return { ok: false };
    const sealed = secrets.seal(rest.text, RECOVERY_PURPOSE);
    const isUsed = await transaction(pool, async (db) => {
      const user = await ownerOf(db, userId);
      if (!user || !(await useRecovery(db, userId, before, { sealed, left: rest.left }))) return false;
      await sendNotice(db, user, 'recovery_code_used');
      await factorEvent(db, user, 'recovery_code.used', userId, { left: rest.left });
      return true;
    });
    if (isUsed) return { ok: true, left: rest.left };
  }
  return { ok: false };
}

/**
 * Gives the user new recovery codes, which replace the ones before. The user's row is locked.
 * @returns the codes, shown only this once
 * @throws ApiError 400 TOTP-NOT-HUMAN, RECOVERY-CODES-NO-FACTOR
 */
export async function makeRecoveryCodes(
  { db, secrets }: { db: Db; secrets: Pick<Secrets, 'seal'> },
  user: FactorOwner,
  editor: string,
): Promise<{ event: AppendedEvent; codes: string[] }> {
  if (user.kind !== 'human') throw notHuman();
  if (!(await hasSecondFactor(db, user.id))) throw noFactor();
  const { shown, text } = newRecoveryCodes();
  await putRecovery(db, user.id, { sealed: secrets.seal(text, RECOVERY_PURPOSE), left: shown.length });
  await sendNotice(db, user, 'recovery_codes_made', editor);
  return { event: await factorEvent(db, user, 'recovery_codes.added', editor), codes: shown };
}

/** Removes the codes. The user's row is locked. @throws ApiError 404 RECOVERY-CODES-NOT-FOUND */
export async function dropRecoveryCodes(db: Db, user: FactorOwner, editor: string): Promise<AppendedEvent> {
  if (!(await removeRecovery(db, user.id))) throw noCodes();
  return factorEvent(db, user, 'recovery_codes.removed', editor);
}

/** Removes codes that no key decrypts any more. */
export async function loseRecoveryCodes(db: Db, user: FactorOwner): Promise<void> {
  if (await removeRecovery(db, user.id)) await factorEvent(db, user, 'recovery_codes.lost', SYSTEM);
}

function noFactor(): ApiError {
  const message = 'Recovery codes stand in for a second factor, and the user has none. Add one first.';
  return new ApiError('FAILED_PRECONDITION', 'RECOVERY-CODES-NO-FACTOR', message);
}

function noCodes(): ApiError {
  return new ApiError('NOT_FOUND', 'RECOVERY-CODES-NOT-FOUND', 'The user has no recovery codes.');
}
