/**
 * The second factor of a user: checks its code in a login, and adds, confirms and removes it.
 *
 * Guarantee: a code is accepted once, however many requests send it at the same time, and never after a later one was
 * used (RFC 6238 section 5.2). An attempt is counted before the code is checked, so parallel requests cannot exceed the
 * limit (RFC 4226 section 7.3); beyond the limit even a right code is refused until the cool-down has passed. The login
 * itself also delays answers and locks users; this limit applies even where locking is off. Each change is one
 * transaction with its event. A login requires the factor only after a code has proved that the user's app has the
 * secret, so an unfinished enrolment locks nobody out.
 *
 * On crash: after a code was used and before the login was answered, the user needs the next code, 30 seconds later. A
 * factor that was not confirmed is pending, and adding another replaces it.
 */
import {
  confirm,
  findTotp,
  putPending,
  removeTotp,
  replaceSecret,
  spendTry,
  useStep,
} from '../../directory/users/second-factors.ts';
import { sendNotice } from '../../messages/mail/outbox.ts';
import { keyOfText, newTotpSecret, stepOfCode, TOTP_PURPOSE } from '../../passwords/totp-secret.ts';
import type { Config } from '../../platform/config.ts';
import { type AppendedEvent, appendEvent, SYSTEM } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import type { Users } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';

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
  const step = stepOfCode(keyOfText(secrets.unseal(sealed, TOTP_PURPOSE)), code, now, config.TOTP_WINDOW);
  return step !== undefined && useStep(pool, userId, sealed, step);
}

/** A user as these calls need it. The user's row is locked. */
export type TotpOwner = Named<Users, { id: 'id'; orgId: 'org_id'; kind: 'kind' }>;

/**
 * Gives the user a new pending factor, which replaces one that is pending already.
 * @param secret in base32; absent: a new one
 * @returns the secret in base32, shown only this once
 * @throws ApiError 400 TOTP-NOT-HUMAN, TOTP-ACTIVE
 */
export async function addTotp(
  { db, secrets }: { db: Db; secrets: Secrets },
  user: TotpOwner,
  editor: string,
  secret: string = newTotpSecret(),
): Promise<{ event: AppendedEvent; secret: string }> {
  if (user.kind !== 'human') throw notHuman();
  if (!(await putPending(db, user.id, secrets.seal(secret, TOTP_PURPOSE)))) throw alreadyActive();
  return { event: await totpEvent(db, user, 'added', editor), secret };
}

/**
 * Activates the pending factor; the code that proves it is consumed.
 * @throws ApiError 404 TOTP-NOT-FOUND, 400 TOTP-ACTIVE, TOTP-CODE
 */
export async function verifyTotp(
  { db, secrets, config }: { db: Db; secrets: Secrets; config: Pick<Config, 'TOTP_WINDOW'> },
  user: TotpOwner,
  code: string,
  editor: string,
): Promise<AppendedEvent> {
  const totp = await findTotp(db, user.id);
  if (!totp) throw notFound();
  if (totp.active) throw alreadyActive();
  const step = stepOfCode(keyOfText(secrets.unseal(totp.secret, TOTP_PURPOSE)), code, Date.now(), config.TOTP_WINDOW);
  if (step === undefined || !(await confirm(db, user.id, totp.secret, step))) throw wrongCode();
  await sendNotice(db, user, 'factor_added', editor);
  return totpEvent(db, user, 'verified', editor);
}

/**
 * Removes the factor, active or pending: from now on the password alone is enough.
 * @throws ApiError 404 TOTP-NOT-FOUND
 */
export async function dropTotp(db: Db, user: TotpOwner, editor: string): Promise<AppendedEvent> {
  const totp = await findTotp(db, user.id);
  if (!(totp && (await removeTotp(db, user.id)))) throw notFound();
  if (totp.active) await sendNotice(db, user, 'factor_removed', editor);
  return totpEvent(db, user, 'removed', editor);
}

/**
 * Puts a new secret, which nobody gets to know, in the place of one that no key decrypts any more: the user still needs
 * the factor to sign in, and no code is right until the factor is removed. A pending factor is dropped.
 */
export async function loseTotp(
  { db, secrets }: { db: Db; secrets: Pick<Secrets, 'seal'> },
  user: TotpOwner,
): Promise<void> {
  const totp = await findTotp(db, user.id);
  if (!totp) return;
  if (!totp.active) return void (await dropTotp(db, user, SYSTEM));
  await replaceSecret(db, user.id, secrets.seal(newTotpSecret(), TOTP_PURPOSE));
  await totpEvent(db, user, 'lost', SYSTEM);
}

/** A second factor is part of its user, so the change also updates the user's sequence. */
async function totpEvent(db: Db, user: TotpOwner, change: string, editor: string): Promise<AppendedEvent> {
  const event = await appendEvent(db, {
    aggregateType: 'user',
    aggregateId: user.id,
    resourceOwner: user.orgId,
    type: `user.human.totp.${change}`,
    editor,
  });
  const moved = 'update users set sequence = $2, changed_at = $3 where id = $1';
  await db.query(moved, [user.id, event.sequence, event.createdAt]);
  return event;
}

function notHuman(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'TOTP-NOT-HUMAN', 'Only a human user has a second factor.');
}

function alreadyActive(): ApiError {
  return new ApiError(
    'FAILED_PRECONDITION',
    'TOTP-ACTIVE',
    'The user already has an active second factor. Remove it first.',
  );
}

function notFound(): ApiError {
  return new ApiError('NOT_FOUND', 'TOTP-NOT-FOUND', 'The user has no second factor.');
}

function wrongCode(): ApiError {
  return invalidArgument('TOTP-CODE', 'The code is wrong.', [{ field: 'code', description: 'is wrong' }]);
}
