/** Whose user a caller may change: everybody that the table of permissions gives them, save those who may do more than they. */

import { type Caller, covers, may, permissionDenied, requireReach } from '../access/caller.ts';
import { rightsOf } from '../access/members.ts';
import type { OperationId } from '../access/permissions.ts';
import type { Db } from '../db/pool.ts';
import { findUser, type User, type UserLock, userNotFound } from './store.ts';

/** `manager`: by a role on the user's organization, which users may hold over themselves too. */
export type Standing = 'self' | 'manager';

export interface Reached {
  user: User;
  standing: Standing;
}

/**
 * The user, for a caller who may do `operation` to it. Somebody who may do more than the caller is out of reach: to
 * change, stop or delete them would be a way to their rights, or to be rid of them.
 * @throws ApiError 403, or 404 to an IAM_OWNER
 */
export async function reachForChange(
  db: Db,
  caller: Caller,
  operation: OperationId,
  userId: string,
  lock?: UserLock,
): Promise<Reached> {
  const user = requireReach(caller, operation, await findUser(db, userId, lock), userNotFound);
  if (user.id !== caller.userId && !covers(caller, await rightsOf(db, user.id))) throw permissionDenied();
  return { user, standing: may(caller, operation, user.orgId) ? 'manager' : 'self' };
}
