/**
 * Revokes what users and clients were granted: sessions, logins in browsers, OAuth grants, codes and tokens. Personal access
 * tokens and keys of machine users were made by name and stay.
 *
 * Guarantee: once the caller's transaction has committed, nothing that was revoked is accepted by any process. Change the
 * user before you call this, in the same transaction: a login that is being made waits for the user's row, and then finds
 * it changed.
 * On crash: the transaction is rolled back, and nothing was revoked.
 */
import type { Db } from '../db/pool.ts';

/** Revokes sessions, grants and their tokens of one user, or of many. Deleting a user does it by itself. */
export async function revokeLogins(db: Db, userId: string | string[]): Promise<void> {
  await revokeSessions(db, userId);
  await revokeGrants(db, 'user_id', [userId].flat());
}

/** Deletes all sessions. The event of the change that calls for it records that; sessions get no event of their own. */
export async function revokeSessions(db: Db, userId: string | string[]): Promise<void> {
  await db.query('delete from sessions where user_id = any($1::text[])', [[userId].flat()]);
}

/** Call it when a client is removed: what was granted to it is revoked, its users stay logged in. */
export async function revokeClientGrants(db: Db, clientId: string): Promise<void> {
  await revokeGrants(db, 'client_id', [clientId]);
}

/** Forgets the failed logins of one user, or of many: a user who is unlocked or gets a new password has all tries again. */
export async function clearFailures(db: Db, userId: string | string[]): Promise<void> {
  await db.query('delete from login_failures where user_id = any($1::text[])', [[userId].flat()]);
}

/** Grants first: another transaction that revokes one locks it before what came of it, too. */
async function revokeGrants(db: Db, column: 'user_id' | 'client_id', values: string[]): Promise<void> {
  await db.query(`delete from oauth_models where ${column} = any($1::text[]) and kind = 'Grant'`, [values]);
  await db.query(`delete from oauth_models where ${column} = any($1::text[])`, [values]);
}
