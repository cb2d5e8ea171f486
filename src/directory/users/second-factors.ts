/** Stores second factors: at most one per user, with an encrypted secret. */
import { type Db, prepared } from '../../platform/db/pool.ts';
import type { UserTotp } from '../../platform/db/tables.ts';

export interface StoredTotp extends Pick<UserTotp, 'secret'> {
  /** False while it is pending. */
  active: boolean;
}

/** The second factor of a user, pending or active. */
export async function findTotp(db: Db, userId: string): Promise<StoredTotp | undefined> {
  const text = 'select secret, confirmed_at is not null as active from user_totp where user_id = $1';
  const { rows } = await db.query<StoredTotp>(prepared(text, [userId]));
  return rows[0];
}

/** Stores a pending factor, which replaces a pending one; false when the user has an active one. */
export async function putPending(db: Db, userId: string, sealed: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into user_totp (user_id, secret) values ($1, $2)
     on conflict (user_id, id) do update set secret = excluded.secret, created_at = now()
     where user_totp.confirmed_at is null`,
    [userId, sealed],
  );
  return rowCount === 1;
}

/** Adds an active factor, whose secret another program has confirmed, to a user who has none. */
export async function addActive(db: Db, userId: string, sealed: string): Promise<void> {
  await db.query('insert into user_totp (user_id, secret, confirmed_at) values ($1, $2, now())', [userId, sealed]);
}

/** Activates a pending factor and consumes its first code; false when it was replaced, removed or confirmed since. */
export async function confirm(db: Db, userId: string, sealed: string, step: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `update user_totp set confirmed_at = now(), last_step = $3
     where user_id = $1 and secret = $2 and confirmed_at is null`,
    [userId, sealed, step],
  );
  return rowCount === 1;
}

/** Codes checked in a row without success; after that, none is checked until the cool-down has passed. */
const TRIES = 10;
const RESTED = `last_try_at < now() - interval '15 minutes'`;

/** Counts an attempt on an active factor; returns its encrypted secret; undefined without a factor or attempts left. */
export async function spendTry(db: Db, userId: string): Promise<string | undefined> {
  const { rows } = await db.query<Pick<UserTotp, 'secret'>>(
    `update user_totp set tries = case when ${RESTED} then 1 else tries + 1 end, last_try_at = now()
     where user_id = $1 and confirmed_at is not null and (tries < ${TRIES} or ${RESTED}) returning secret`,
    [userId],
  );
  return rows[0]?.secret;
}

/**
 * Consumes a step of an active factor and resets the attempts; false when it or a later one was used before. Of several
 * parallel calls only one succeeds.
 */
export async function useStep(db: Db, userId: string, sealed: string, step: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `update user_totp set last_step = $3, tries = 0
     where user_id = $1 and secret = $2 and confirmed_at is not null and coalesce(last_step < $3, true)`,
    [userId, sealed, step],
  );
  return rowCount === 1;
}

/** Replaces the secret of an active factor; it stays active. */
export async function replaceSecret(db: Db, userId: string, sealed: string): Promise<void> {
  await db.query('update user_totp set secret = $2, last_step = null, tries = 0 where user_id = $1', [userId, sealed]);
}

/** Returns false when there was none. */
export async function removeTotp(db: Db, userId: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from user_totp where user_id = $1', [userId]);
  return rowCount === 1;
}
