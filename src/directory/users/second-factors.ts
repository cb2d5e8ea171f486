/**
 * Stores what proves a user in addition to the first factor: authenticator apps with encrypted keys, codes by mail and
 * text message, recovery codes, and how many codes were tried.
 *
 * Guarantee: each app is at most once in use at a time: its step and a recovery code are used up by one statement each,
 * so of several parallel calls with the same code only one succeeds. Tries of all kinds of codes are counted together.
 */
import { type Db, prepared } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names, oneRow } from '../../platform/db/rows.ts';
import type { UserFactors, UserTotp } from '../../platform/db/tables.ts';

const APP = {
  id: 'id',
  name: 'name',
  /** The encrypted key. */
  secret: 'secret',
  createdAt: 'created_at',
  /** Null while it is pending: no code has proved yet that the app has the key. */
  confirmedAt: 'confirmed_at',
  lastUsedAt: 'last_used_at',
} as const satisfies Names<UserTotp>;

/** An authenticator app of a user. */
export type StoredApp = Named<UserTotp, typeof APP>;

/** All that proves a user besides what they sign in with first. */
export interface SecondFactors {
  /** The apps, in the order in which they were added. */
  totps: StoredApp[];
  otpEmail: boolean;
  otpSms: boolean;
  /** Credentials of WebAuthn that are asked for after the password. */
  securityKeys: number;
  /** Credentials of WebAuthn that sign in alone. */
  passkeys: number;
  recoveryLeft: number;
  recoveryMadeAt: Date | null;
  /** Since when a factor is missing that the user had in the system before; it ends with a new one. */
  lostAt: Date | null;
}

/** The factors of a user; of an unknown one none. */
export async function factorsOf(db: Db, userId: string): Promise<SecondFactors> {
  const { rows } = await db.query<Omit<SecondFactors, 'totps'>>(
    prepared(
      `select coalesce(f.otp_email, false) as "otpEmail", coalesce(f.otp_sms, false) as "otpSms",
         (select count(*)::int from user_passkeys p where p.user_id = u.id and not p.passwordless) as "securityKeys",
         (select count(*)::int from user_passkeys p where p.user_id = u.id and p.passwordless) as passkeys,
         coalesce(f.recovery_left, 0)::int as "recoveryLeft", f.recovery_made_at as "recoveryMadeAt",
         f.lost_at as "lostAt"
       from (select $1::text as id) u left join user_factors f on f.user_id = u.id`,
      [userId],
    ),
  );
  return { totps: await appsOf(db, userId), ...oneRow(rows) };
}

/** Whether the first factor alone is not enough for the user. */
export async function hasSecondFactor(db: Db, userId: string): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>(prepared('select has_second_factor($1) as has', [userId]));
  return rows[0]?.has ?? false;
}

/** The authenticator apps of a user, pending and active, in the order in which they were added. */
export async function appsOf(db: Db, userId: string): Promise<StoredApp[]> {
  const text = `select ${columnList(APP, 't')} from user_totp t where t.user_id = $1 order by t.created_at, t.id`;
  return (await db.query<StoredApp>(prepared(text, [userId]))).rows;
}

/** Stores a pending app, which replaces the pending one; the user's row is locked. */
export async function putPending(
  db: Db,
  userId: string,
  { id, sealed, name }: { id: string; sealed: string; name: string },
): Promise<void> {
  await db.query('delete from user_totp where user_id = $1 and confirmed_at is null', [userId]);
  const text = 'insert into user_totp (user_id, id, secret, name) values ($1, $2, $3, $4)';
  await db.query(text, [userId, id, sealed, name]);
}

/** Adds an active app, whose key another program has confirmed, to a user who has none. */
export async function addActive(db: Db, userId: string, sealed: string): Promise<void> {
  await db.query('insert into user_totp (user_id, secret, confirmed_at) values ($1, $2, now())', [userId, sealed]);
}

/** Activates a pending app and consumes its first code; false when it was replaced, removed or confirmed since. */
export async function confirm(
  db: Db,
  userId: string,
  { id, secret }: Pick<StoredApp, 'id' | 'secret'>,
  step: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update user_totp set confirmed_at = now(), last_step = $4, last_used_at = now()
     where user_id = $1 and id = $2 and secret = $3 and confirmed_at is null`,
    [userId, id, secret, step],
  );
  return rowCount === 1;
}

/** Codes checked in a row without success; after that, none is checked until the cool-down has passed. */
const TRIES = 10;
const RESTED = `f.last_try_at < now() - interval '15 minutes'`;

/** Counts an attempt with a code of any kind; false without attempts left, or without the user. */
export async function spendTry(db: Db, userId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into user_factors as f (user_id, tries, last_try_at) select u.id, 1, now() from users u where u.id = $1
     on conflict (user_id) do update
       set tries = case when ${RESTED} then 1 else f.tries + 1 end, last_try_at = now()
       where f.tries < ${TRIES} or ${RESTED}`,
    [userId],
  );
  return rowCount === 1;
}

/** Forgets the attempts, after a right code. */
export async function forgetTries(db: Db, userId: string): Promise<void> {
  await db.query('update user_factors set tries = 0 where user_id = $1', [userId]);
}

/**
 * Consumes a step of an active app; false when it or a later one was used before. Of several parallel calls only one
 * succeeds.
 */
export async function useStep(
  db: Db,
  userId: string,
  { id, secret }: Pick<StoredApp, 'id' | 'secret'>,
  step: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update user_totp set last_step = $4, last_used_at = now()
     where user_id = $1 and id = $2 and secret = $3 and confirmed_at is not null and coalesce(last_step < $4, true)`,
    [userId, id, secret, step],
  );
  return rowCount === 1;
}

/** Replaces the key of an active app; it stays active. */
export async function replaceSecret(db: Db, userId: string, id: string, sealed: string): Promise<void> {
  const text = 'update user_totp set secret = $3, last_step = null where user_id = $1 and id = $2';
  await db.query(text, [userId, id, sealed]);
}

/** Removes one app, or all. @returns how many there were */
export async function removeTotp(db: Db, userId: string, id?: string): Promise<number> {
  const text = 'delete from user_totp where user_id = $1 and ($2::text is null or id = $2)';
  return (await db.query(text, [userId, id ?? null])).rowCount ?? 0;
}

/** The recovery codes of a user, encrypted; undefined if none is left. */
export async function findRecovery(db: Db, userId: string): Promise<string | undefined> {
  const text = 'select recovery_sealed as sealed from user_factors where user_id = $1';
  const { rows } = await db.query<{ sealed: UserFactors['recovery_sealed'] }>(prepared(text, [userId]));
  return rows[0]?.sealed ?? undefined;
}

/** Replaces all recovery codes of a user; the user's row is locked. */
export async function putRecovery(db: Db, userId: string, { sealed, left }: SealedCodes): Promise<void> {
  await db.query(
    `insert into user_factors (user_id, recovery_sealed, recovery_left, recovery_made_at) values ($1, $2, $3, now())
     on conflict (user_id) do update set recovery_sealed = excluded.recovery_sealed,
       recovery_left = excluded.recovery_left, recovery_made_at = excluded.recovery_made_at`,
    [userId, sealed, left],
  );
}

export interface SealedCodes {
  sealed: string;
  left: number;
}

/** Replaces the codes by those that are left, and forgets the attempts; false when they have changed since. */
export async function useRecovery(db: Db, userId: string, before: string, after: SealedCodes): Promise<boolean> {
  const { rowCount } = await db.query(
    `update user_factors set recovery_sealed = case when $4 > 0 then $3 end, recovery_left = $4, tries = 0
     where user_id = $1 and recovery_sealed = $2`,
    [userId, before, after.sealed, after.left],
  );
  return rowCount === 1;
}

/** Returns false when there were none. */
export async function removeRecovery(db: Db, userId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update user_factors set recovery_sealed = null, recovery_left = 0, recovery_made_at = null
     where user_id = $1 and recovery_sealed is not null`,
    [userId],
  );
  return rowCount === 1;
}

/** What a reset removed, by kind; only what there was. */
export interface Removed {
  totps: number;
  otp: number;
  securityKeys: number;
  passkeys: number;
  recoveryCodes: number;
  /** 1: it was known that a factor of the system before was missing. */
  lost: number;
}

/**
 * Removes everything that is asked for after the first factor, and what stands in for it: apps, codes by mail and text
 * message, security keys, recovery codes, and that a factor was lost. The user's row is locked.
 * @param passkeys whether those that sign in alone go too: the device that holds them may be in other hands
 */
export async function removeFactors(db: Db, userId: string, passkeys: boolean): Promise<Removed> {
  const totps = await removeTotp(db, userId);
  const keys = await db.query<{ passwordless: boolean }>(
    'delete from user_passkeys where user_id = $1 and (not passwordless or $2) returning passwordless',
    [userId, passkeys],
  );
  const { rows } = await db.query<{ otp: boolean; codes: number; lost: number }>(
    `with old as (select * from user_factors where user_id = $1),
       gone as (delete from user_factors where user_id = $1)
     select otp_email or otp_sms as otp, recovery_left::int as codes,
       (lost_at is not null)::int as lost from old`,
    [userId],
  );
  return {
    totps,
    otp: rows[0]?.otp ? 1 : 0,
    securityKeys: keys.rows.filter((key) => !key.passwordless).length,
    passkeys: keys.rows.filter((key) => key.passwordless).length,
    recoveryCodes: rows[0]?.codes ?? 0,
    lost: rows[0]?.lost ?? 0,
  };
}

/** Ends the time in which a factor of the system before is missing: the user has a new one. */
export async function endLostFactor(db: Db, userId: string): Promise<void> {
  await db.query('update user_factors set lost_at = null where user_id = $1 and lost_at is not null', [userId]);
}
