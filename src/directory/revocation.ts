/**
 * Revokes what users and clients were granted: sessions, browser logins, OAuth grants, codes and tokens. Personal
 * access tokens and keys of machine users were created explicitly and stay.
 *
 * Guarantee: once the caller's transaction has committed, no process accepts anything that was revoked. Change the user
 * before you call this, in the same transaction: a concurrent login waits for the user's row and then sees the change.
 */
import type { Db } from '../platform/db/pool.ts';

/** Revokes sessions, grants and their tokens of one or many users. Deleting a user does this too, by a trigger. */
export async function revokeLogins(db: Db, userId: string | string[]): Promise<void> {
  await revokeSessions(db, userId);
  await revokeGrants(db, 'user_id', [userId].flat());
}

/** Deletes all sessions of one or many users. The event of the causing change records it; sessions get no own event. */
export async function revokeSessions(db: Db, userId: string | string[]): Promise<void> {
  await db.query('delete from sessions where user_id = any($1::text[])', [[userId].flat()]);
}

/** Call it when a client is removed: revokes its grants; its users stay logged in. */
export async function revokeClientGrants(db: Db, clientId: string): Promise<void> {
  await revokeGrants(db, 'client_id', [clientId]);
}

/** Grants first: other transactions that revoke a grant also lock it before its codes and tokens. */
async function revokeGrants(db: Db, column: 'user_id' | 'client_id', values: string[]): Promise<void> {
  await db.query(`delete from oauth_models where ${column} = any($1::text[]) and kind = 'Grant'`, [values]);
  await db.query(`delete from oauth_models where ${column} = any($1::text[])`, [values]);
}
