/** Which users a caller may change: those that the permissions table allows, except users with more rights. */

import { type Caller, covers, may, permissionDenied, requireReach } from '../access/caller.ts';
import { rightsOf } from '../access/members.ts';
import type { OperationId } from '../access/permissions.ts';
import type { Db } from '../db/pool.ts';
import { findUser, type User, type UserLock, userNotFound } from './store.ts';

/** `manager`: by a role on the user's organization, which may also be the caller's own. */
export type Standing = 'self' | 'manager';

export interface Reached {
  user: User;
  standing: Standing;
}

/**
 * The user, for a caller who may do `operation` to them. Users with more rights than the caller are refused: otherwise
 * the caller could take over their rights by changing them, or get rid of them.
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
