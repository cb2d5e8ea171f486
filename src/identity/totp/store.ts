/** Second factors as they are stored: at most one a user, its secret sealed. */
import type { Db } from '../../db/pool.ts';

export interface StoredTotp {
  /** Sealed. */
  secret: string;
  /** False while it is pending. */
  active: boolean;
}

export async function findTotp(db: Db, userId: string): Promise<StoredTotp | undefined> {
  const { rows } = await db.query<StoredTotp>(
    'select secret, confirmed_at is not null as active from user_totp where user_id = $1',
    [userId],
  );
  return rows[0];
}

/** Whether a login of the user asks for a code; a pending factor does not count. */
export async function hasTotp(db: Db, userId: string): Promise<boolean> {
  return (await findTotp(db, userId))?.active ?? false;
}

/** Stores a factor as pending, in place of one that is; false when the user has an active one. */
export async function putPending(db: Db, userId: string, sealed: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into user_totp (user_id, secret) values ($1, $2)
     on conflict (user_id) do update set secret = excluded.secret, created_at = now()
     where user_totp.confirmed_at is null`,
    [userId, sealed],
  );
  return rowCount === 1;
}

/** Makes a pending factor active and its first code used; false when it was replaced, removed or confirmed meanwhile. */
export async function confirm(db: Db, userId: string, sealed: string, step: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `update user_totp set confirmed_at = now(), last_step = $3
     where user_id = $1 and secret = $2 and confirmed_at is null`,
    [userId, sealed, step],
  );
  return rowCount === 1;
}

/** Wrong codes in a row that are looked at; then none is until they have rested. */
const TRIES = 10;
const RESTED = `last_try_at < now() - interval '15 minutes'`;

/** Spends a try of an active factor; answers its sealed secret, or undefined when there is none or no try is left. */
export async function spendTry(db: Db, userId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ secret: string }>(
    `update user_totp set tries = case when ${RESTED} then 1 else tries + 1 end, last_try_at = now()
     where user_id = $1 and confirmed_at is not null and (tries < ${TRIES} or ${RESTED}) returning secret`,
    [userId],
  );
  return rows[0]?.secret;
}

/**
 * Uses up a step of an active factor, and gives all tries back; false when it or a later one was used before. Of several
 * at once one only wins.
 */
export async function useStep(db: Db, userId: string, sealed: string, step: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `update user_totp set last_step = $3, tries = 0
     where user_id = $1 and secret = $2 and confirmed_at is not null and coalesce(last_step < $3, true)`,
    [userId, sealed, step],
  );
  return rowCount === 1;
}

/** False when there was none. */
export async function removeTotp(db: Db, userId: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from user_totp where user_id = $1', [userId]);
  return rowCount === 1;
}
