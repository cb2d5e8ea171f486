/**
 * Which users the caller of an import may not change: those with more rights than the caller, by the roles of both at
 * the time of the change. So an import with `onExisting=update` cannot be used to gain their rights.
 */
import { covers } from '../../../access/caller.ts';
import { rightsOf } from '../../../access/members.ts';
import type { Db } from '../../../db/pool.ts';

export interface Reach {
  mayDoMore: ReadonlySet<string>;
  iamOwners: ReadonlySet<string>;
}

/** @param createdBy user id of the caller */
export async function loadReach(db: Db, createdBy: string, userIds: string[]): Promise<Reach> {
  const { rows: members } = await db.query<{ user_id: string }>(
    `select user_id from instance_members where user_id = any($1::text[])
     union select user_id from org_members where user_id = any($1::text[])`,
    [userIds],
  );
  const mayDoMore = new Set<string>();
  const iamOwners = new Set<string>();
  if (members.length === 0) return { mayDoMore, iamOwners };
  const caller = { userId: createdBy, orgId: '', ...(await rightsOf(db, createdBy)) };
  for (const { user_id: userId } of members) {
    const rights = await rightsOf(db, userId);
    if (rights.isIamOwner) iamOwners.add(userId);
    if (userId !== createdBy && !covers(caller, rights)) mayDoMore.add(userId);
  }
  return { mayDoMore, iamOwners };
}
