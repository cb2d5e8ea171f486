/**
 * Asks for the erasure of a person: deletes the user, if there still is one, and leaves a request for the workers
 * (src/imports/upkeep/erasure.ts), which remove the person from the history, from imports and from audit events.
 *
 * A deletion alone keeps these, because a list of deleted users is evidence that nobody may remove by deleting them,
 * and because the report of an undo names whom it removed.
 *
 * Guarantee: the deletion and the request are one transaction. A second request for the same person changes nothing.
 */
import { type Caller, may, permissionDenied } from '../../contract/permissions.ts';
import { type AppendedEvent, appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { type Named, oneRow } from '../../platform/db/rows.ts';
import type { Erasures } from '../../platform/db/tables.ts';
import { nameKey } from '../../platform/fields.ts';
import { randomToken } from '../../platform/ids.ts';
import { accessForChange, deleteUser, findUser, loginNames, type User, userNotFound } from './store.ts';

export interface RequestedErasure {
  event: AppendedEvent;
  orgId: string;
  /** What stands in place of the user's id from then on. */
  erasedId: string;
}

/** @throws ApiError 403, 404 to an IAM_OWNER, 400 MEMBER-LAST-OWNER */
export function requestErasure(pool: Pool, caller: Caller, userId: string): Promise<RequestedErasure> {
  return transaction(pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (!user) return requestForDeleted(db, caller, userId);
    await accessForChange(db, caller, 'eraseUser', userId, 'for update');
    const names = namesOf(user);
    const event = await deleteUser(db, user, caller.userId);
    return store(db, { id: userId, orgId: user.orgId, names, editor: caller.userId }, event);
  });
}

/** Of a deleted user only the id is known, and the organization it belonged to. */
async function requestForDeleted(db: Db, caller: Caller, userId: string): Promise<RequestedErasure> {
  const { rows } = await db.query<{ orgId: string | null }>('select org_of_removed_id($1) as "orgId"', [userId]);
  const orgId = rows[0]?.orgId ?? undefined;
  if (orgId === undefined || !may(caller, 'eraseUser', orgId)) {
    throw caller.isIamOwner ? userNotFound() : permissionDenied();
  }
  const event = await appendEvent(db, {
    aggregateType: 'user',
    aggregateId: userId,
    resourceOwner: orgId,
    type: 'user.erasure.requested',
    editor: caller.userId,
  });
  return store(db, { id: userId, orgId, names: [], editor: caller.userId }, event);
}

function namesOf(user: User): string[] {
  const texts = [user.userName, ...loginNames(user), user.email ?? '', user.phone ?? ''];
  return [...new Set(texts.filter((text) => text !== '').flatMap((text) => [text, nameKey(text)]))];
}

async function store(
  db: Db,
  { id, orgId, names, editor }: { id: string; orgId: string; names: string[]; editor: string },
  event: AppendedEvent,
): Promise<RequestedErasure> {
  const { rows } = await db.query<Named<Erasures, { erasedId: 'tombstone' }>>(
    `insert into erasures as e (user_id, org_id, tombstone, names, editor) values ($1, $2, $3, $4, $5)
     on conflict (user_id) do update set names = e.names || excluded.names, created_at = excluded.created_at
     returning tombstone as "erasedId"`,
    [id, orgId, `erased:${randomToken().slice(0, 22)}`, names, editor],
  );
  return { event, orgId, erasedId: oneRow(rows).erasedId };
}
