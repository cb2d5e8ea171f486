/**
 * Users whose second factor the import could not bring along. They sign in with the password alone until they have a new
 * one, so the password is not enough for anything by which a thief of it would keep the account: a new factor, another
 * address, number or password, or another way to sign in. For these a code is needed too, which goes to the verified
 * address.
 *
 * Guarantee: a code is valid for ten minutes and used once. Without a verified address nobody gets one: an administrator
 * helps. A new factor or passkey ends this (../../directory/users/second-factors.ts).
 *
 * On crash: at most a code was mailed, or used; the user asks for another one.
 */
import { findUser } from '../../directory/users/store.ts';
import { findOpenCode, mailCode, useCode } from '../../messages/mail/codes.ts';
import { countWithin } from '../../platform/db/counts.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';

const CODE_MS = 10 * 60_000;
const PURPOSE = 'confirm_change';

/** A person reads a few mails; a thief must not send hundreds. */
const MAILS = {
  limit: 10,
  windowMs: 24 * 60 * 60_000,
  message: 'Too many codes were mailed today. Try again tomorrow, or ask an administrator.',
};
/** Far from a guess at 60 bits. */
const WRONG_CODES = { limit: 100, windowMs: 60 * 60_000, message: 'Too many wrong codes. Try again later.' };

/** Whether the user has lost a second factor, and has none since. */
export async function isFactorLost(db: Db, userId: string): Promise<boolean> {
  return (await lostFactor(db, userId)) !== undefined;
}

async function lostFactor(db: Db, userId: string): Promise<{ hasPassword: boolean } | undefined> {
  const { rows } = await db.query<{ hasPassword: boolean }>(
    `select u.password_hash is not null as "hasPassword" from user_factors f join users u on u.id = f.user_id
     where f.user_id = $1 and f.lost_at is not null and not has_second_factor($1)`,
    [userId],
  );
  return rows[0];
}

interface LostDeps {
  pool: Pool;
  secrets: Secrets;
}

/**
 * Mails a code to the verified address, unless one was mailed in the last minute.
 * @throws ApiError 400 FACTOR-LOST without a verified address, 429 RATE-LIMIT
 */
export async function mailLostCode({ pool }: LostDeps, userId: string): Promise<void> {
  await transaction(pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (!user?.emailVerified || user.email === null) throw noAddress();
    const { rowCount } = await db.query(
      `select from mail_outbox m join codes c on c.id = m.code_id where m.user_id = $1 and m.kind = '${PURPOSE}'
         and c.used_at is null and m.created_at > now() - interval '1 minute'`,
      [userId],
    );
    if (rowCount) return;
    await countWithin(db, `lost factor mails ${userId}`, MAILS);
    await mailCode(db, { kind: PURPOSE, userId, codeTtlMs: CODE_MS });
  });
}

/**
 * Uses the code that was mailed. @param browser the session of the browser for which it counts from then on
 * @throws ApiError 400 CODE-INVALID, 429 RATE-LIMIT
 */
export async function useLostCode(
  { pool, secrets }: LostDeps,
  { userId, entered, browser = '' }: { userId: string; entered: string; browser?: string },
): Promise<void> {
  await countWithin(pool, `lost factor codes ${userId}`, WRONG_CODES);
  const code = await findOpenCode({ db: pool, secrets }, { userId, entered, purposes: [PURPOSE] });
  if (!code || !(await useCode(pool, code))) {
    throw invalidArgument('CODE-INVALID', 'The code is wrong, already used or expired.');
  }
  await pool.query('update codes set login = $2 where id = $1', [code.id, browser]);
}

/** Whether the person has entered a code in this browser within the last minutes. */
export async function hasUsedLostCode(db: Db, userId: string, browser: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from codes where user_id = $1 and purpose = '${PURPOSE}' and login = $2
       and used_at > now() - $3 * interval '1 millisecond' limit 1`,
    [userId, browser, CODE_MS],
  );
  return (rowCount ?? 0) > 0;
}

/**
 * Refuses a change of the user's own, unless the factor is not lost, or the password and the code that was mailed come
 * with it. Without a code, it mails one.
 * @param given.givesPassword the caller checks it; only a user who has none needs none
 * @throws ApiError 400 FACTOR-LOST, CODE-INVALID, 429 RATE-LIMIT
 */
export async function requireNoLostFactor(
  deps: LostDeps,
  userId: string,
  { mailedCode, givesPassword }: { mailedCode: string | undefined; givesPassword: boolean },
): Promise<void> {
  const found = await lostFactor(deps.pool, userId);
  if (!found) return;
  if (found.hasPassword && !givesPassword) throw lost('Send currentPassword, and then the mailedCode too.');
  if (mailedCode !== undefined) return useLostCode(deps, { userId, entered: mailedCode });
  await mailLostCode(deps, userId);
  throw lost('We have mailed a code to the verified address. Send it as mailedCode, with currentPassword.');
}

function noAddress(): ApiError {
  return lost('The user has no verified address that a code could go to: an administrator has to help.');
}

/** The error of somebody who cannot change this with the password alone. */
function lost(more: string): ApiError {
  const message = `The second factor of the user was lost in the import, so the password alone is not enough. ${more}`;
  return new ApiError('FAILED_PRECONDITION', 'FACTOR-LOST', message);
}
