/**
 * The authenticator apps of a user: checks a code in a login, and adds, confirms and removes apps.
 *
 * Guarantee: a code is accepted once, however many requests send it at the same time, and never after a later one of
 * the same app was used (RFC 6238 section 5.2); two apps with one key count as one. Each change is one transaction with
 * its event. A login requires an app only after a code has proved that it has the key, so an unfinished enrolment locks
 * nobody out.
 *
 * On crash: an app that was not confirmed is pending, and adding another replaces it.
 */
import {
  appsOf,
  confirm,
  endLostFactor,
  hasSecondFactor,
  putPending,
  removeTotp,
  replaceSecret,
  type StoredApp,
  useStep,
} from '../../directory/users/second-factors.ts';
import { requireWayIn, type WaysInConfig } from '../../directory/ways-in.ts';
import { sendNotice } from '../../messages/mail/outbox.ts';
import {
  keyOfText,
  MOST_APPS,
  newTotpSecret,
  stepOfCode,
  TOTP_PURPOSE,
  type TotpKey,
} from '../../passwords/totp-secret.ts';
import type { Config } from '../../platform/config.ts';
import { type AppendedEvent, appendEvent, SYSTEM } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import type { Users } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';

interface TotpDeps {
  secrets: Pick<Secrets, 'unseal'>;
  config: Pick<Config, 'TOTP_WINDOW'>;
}

/**
 * Whether the code is valid now for an active app of the user; it is consumed. An app whose key cannot be decrypted
 * stands in the way of no other.
 * @param code as the user typed it
 * @param now milliseconds since 1970
 */
export async function useTotp(
  { pool, ...deps }: TotpDeps & { pool: Db },
  userId: string,
  code: string,
  now: number,
): Promise<boolean> {
  let isUsed = false;
  let unreadable: unknown;
  for (const app of await appsOf(pool, userId)) {
    if (app.confirmedAt === null) continue;
    try {
      const step = stepOf(deps, app, code, now);
      // All that fit are consumed in order, so a code is used once even if two apps have the same key.
      if (step === undefined) continue;
      if (!(await useStep(pool, userId, app, step))) return false;
      isUsed = true;
    } catch (error) {
      unreadable = error;
    }
  }
  if (!isUsed && unreadable !== undefined) throw unreadable;
  return isUsed;
}

function stepOf({ secrets, config }: TotpDeps, app: StoredApp, code: string, now: number): number | undefined {
  return stepOfCode(keyOfText(secrets.unseal(app.secret, TOTP_PURPOSE)), code, now, config.TOTP_WINDOW);
}

/** A user as these calls need it. The user's row is locked. */
export type FactorOwner = Named<Users, { id: 'id'; orgId: 'org_id'; kind: 'kind' }>;

/** The user, with their row locked; undefined if there is none. */
export async function ownerOf(db: Db, userId: string): Promise<FactorOwner | undefined> {
  const text = 'select id, org_id as "orgId", kind from users where id = $1 for no key update';
  return (await db.query<FactorOwner>(text, [userId])).rows[0];
}

export interface NewApp {
  /** In base32; absent: a new one. */
  secret?: string;
  /** What the user calls the app; empty for none. */
  name?: string | undefined;
}

/**
 * Gives the user a new pending app, which replaces one that is pending already.
 * @returns its id, and the key, shown only this once
 * @throws ApiError 400 TOTP-NOT-HUMAN, TOTP-LIMIT
 */
export async function addTotp(
  { db, secrets }: { db: Db; secrets: Secrets },
  user: FactorOwner,
  editor: string,
  { secret = newTotpSecret(), name = '' }: NewApp = {},
): Promise<{ event: AppendedEvent; id: string; key: TotpKey }> {
  if (user.kind !== 'human') throw notHuman();
  const active = (await appsOf(db, user.id)).filter((app) => app.confirmedAt !== null);
  if (active.length >= MOST_APPS) throw tooMany();
  const id = newId();
  await putPending(db, user.id, { id, sealed: secrets.seal(secret, TOTP_PURPOSE), name });
  return { event: await factorEvent(db, user, 'totp.added', editor), id, key: keyOfText(secret) };
}

/**
 * Activates the pending app; the code that proves it is consumed. A factor that was lost before is lost no longer.
 * @throws ApiError 404 TOTP-NOT-FOUND, 400 TOTP-ACTIVE, TOTP-CODE
 */
export async function verifyTotp(
  { db, ...deps }: TotpDeps & { db: Db },
  user: FactorOwner,
  code: string,
  editor: string,
): Promise<AppendedEvent> {
  const apps = await appsOf(db, user.id);
  const pending = apps.find((app) => app.confirmedAt === null);
  if (!pending) throw apps.length > 0 ? alreadyActive() : notFound();
  const step = stepOf(deps, pending, code, Date.now());
  if (step === undefined || !(await confirm(db, user.id, pending, step))) throw wrongCode();
  await endLostFactor(db, user.id);
  await sendNotice(db, user, 'factor_added', editor);
  return factorEvent(db, user, 'totp.verified', editor);
}

/**
 * Removes apps as `dropTotp` does. Another factor of their own may not go together with the only first one that people
 * have left.
 * @throws ApiError 404 TOTP-NOT-FOUND, 400 LAST-WAY-IN
 */
export async function removeApps(
  { db, config }: { db: Db; config: WaysInConfig },
  user: FactorOwner,
  { editor, id }: { editor: string; id?: string | undefined },
): Promise<AppendedEvent> {
  const event = await dropTotp(db, user, editor, id);
  if (editor === user.id && (await hasSecondFactor(db, user.id))) await requireWayIn(db, user, config);
  return event;
}

/**
 * Removes one app, or all of them, active or pending.
 * @throws ApiError 404 TOTP-NOT-FOUND
 */
export async function dropTotp(db: Db, user: FactorOwner, editor: string, id?: string): Promise<AppendedEvent> {
  const apps = (await appsOf(db, user.id)).filter((app) => id === undefined || app.id === id);
  if ((await removeTotp(db, user.id, id)) === 0) throw notFound();
  if (apps.some(({ confirmedAt }) => confirmedAt !== null)) await sendNotice(db, user, 'factor_removed', editor);
  return factorEvent(db, user, 'totp.removed', editor);
}

/**
 * Puts a new key, which nobody gets to know, in the place of one that no key decrypts any more: the user still needs a
 * factor to sign in, and no code of this app is right until it is removed. A pending app is dropped.
 */
export async function loseTotp(
  { db, secrets }: { db: Db; secrets: Pick<Secrets, 'seal'> },
  user: FactorOwner,
  id: string,
): Promise<void> {
  const app = (await appsOf(db, user.id)).find((one) => one.id === id);
  if (!app) return;
  if (app.confirmedAt === null) return void (await dropTotp(db, user, SYSTEM, id));
  await replaceSecret(db, user.id, id, secrets.seal(newTotpSecret(), TOTP_PURPOSE));
  await factorEvent(db, user, 'totp.lost', SYSTEM);
}

/**
 * Records a change of the factors. They are part of their user, so the change also updates the user's sequence.
 * @param change the end of the type of the event, after `user.human.`
 */
export async function factorEvent(
  db: Db,
  user: FactorOwner,
  change: string,
  editor: string,
  payload?: Record<string, unknown>,
): Promise<AppendedEvent> {
  const event = await appendEvent(db, {
    aggregateType: 'user',
    aggregateId: user.id,
    resourceOwner: user.orgId,
    type: `user.human.${change}`,
    editor,
    ...(payload ? { payload } : {}),
  });
  const moved = 'update users set sequence = $2, changed_at = $3 where id = $1';
  await db.query(moved, [user.id, event.sequence, event.createdAt]);
  return event;
}

/** The error for a machine user. */
export function notHuman(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'TOTP-NOT-HUMAN', 'Only a human user has a second factor.');
}

/** The error for a user who has a second factor, and is to set up the first one. */
export function alreadyActive(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'TOTP-ACTIVE', 'The second factor is active already. Add another first.');
}

function tooMany(): ApiError {
  const message = `The user has ${MOST_APPS} authenticator apps, the most that are possible. Remove one first.`;
  return new ApiError('FAILED_PRECONDITION', 'TOTP-LIMIT', message);
}

function notFound(): ApiError {
  return new ApiError('NOT_FOUND', 'TOTP-NOT-FOUND', 'The user has no such authenticator app.');
}

function wrongCode(): ApiError {
  return invalidArgument('TOTP-CODE', 'The code is wrong.', [{ field: 'code', description: 'is wrong' }]);
}
