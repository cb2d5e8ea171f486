/** Removes expired sessions, grants, codes and tokens of the authorization server; `access/revocation.ts` revokes. */
import type { Db } from '../../db/pool.ts';
import { sweepRows } from '../../db/sweep.ts';

/** Removes one batch of expired rows, which are no longer valid anyway; returns how many. */
export function sweepExpired(db: Db): Promise<number> {
  return sweepRows(db, { table: 'oauth_models', where: 'expires_at < now()', order: 'expires_at' });
}
