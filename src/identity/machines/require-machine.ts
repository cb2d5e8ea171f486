/**
 * The machine user of a path, for the calls that issue credentials to act as that user: tokens, keys, secrets.
 * Guarantee: callers never get a credential of a user with more rights than their own.
 */

import { type Caller, covers, permissionDenied, requireReach } from '../../access/caller.ts';
import { rightsOf } from '../../access/members.ts';
import type { OperationId } from '../../access/permissions.ts';
import type { Db } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { findUser, type User, type UserLock, userNotFound } from '../../users/store.ts';

export interface MachineCall {
  caller: Caller;
  operation: OperationId;
  userId: string;
  /** The error for a human user. */
  notAMachine: { id: string; message: string };
}

/**
 * @param lock locks the user's row until the transaction ends
 * @throws ApiError 403, 404 to an IAM_OWNER, FAILED_PRECONDITION for a human
 */
export async function requireMachine(db: Db, call: MachineCall, lock?: UserLock): Promise<User> {
  const user = requireReach(call.caller, call.operation, await findUser(db, call.userId, lock), userNotFound);
  if (!covers(call.caller, await rightsOf(db, user.id))) throw permissionDenied();
  if (user.kind !== 'machine') {
    throw new ApiError('FAILED_PRECONDITION', call.notAMachine.id, call.notAMachine.message);
  }
  return user;
}
