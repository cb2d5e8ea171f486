/**
 * What the console shows of a user beyond the API: when they were created and last signed in, whether they have a
 * password, and which import wrote them.
 *
 * Guarantee: call it only after the API has shown the user to this person; no column here says more about them.
 */
import type { Db } from '../../db/pool.ts';

export interface Background {
  createdAt: Date;
  lastLoginAt: Date | null;
  hasPassword: boolean;
  importId: string | null;
}

export async function backgroundOf(db: Db, userId: string): Promise<Background | undefined> {
  const { rows } = await db.query<Background>(
    `select created_at as "createdAt", last_login_at as "lastLoginAt", password_hash is not null as "hasPassword",
       import_id as "importId" from users where id = $1`,
    [userId],
  );
  return rows[0];
}
