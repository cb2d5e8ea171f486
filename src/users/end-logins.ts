/** The end of everything that one user, or many, began by logging in; tokens that were made by name are not of that kind. */
import type { Db } from '../db/pool.ts';
import { endOauthOf } from '../identity/oauth/store.ts';
import { endSessions } from '../identity/sessions/store.ts';

/**
 * Ends sessions, grants and their tokens. Call it in the transaction of the change that calls for it, once that change is
 * written: a login that is being made meanwhile waits for the user's row, and then finds it changed.
 */
export async function endLogins(db: Db, userId: string | string[]): Promise<void> {
  await endSessions(db, userId);
  await endOauthOf(db, userId);
}
