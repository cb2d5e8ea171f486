/**
 * The last credential of an owner: without it, nobody could manage the organization or the instance.
 * Guarantee: the last IAM_OWNER keeps a credential. So does the last ORG_OWNER of an organization, unless an IAM_OWNER
 * removes it, who can give a new one. To replace the credential, add the new one first.
 */
import type { Db } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import type { Caller } from './caller.ts';
import { CAN_SIGN_IN, ensureOwnerRemains } from './members.ts';

/**
 * The result of `remove`, which removes a credential of the user; call it in a transaction.
 * @throws ApiError FAILED_PRECONDITION when the user is the last owner who can sign in, and could not afterwards
 */
export async function removeCredential<T>(
  db: Db,
  userId: string,
  caller: Caller,
  remove: () => Promise<T>,
): Promise<T> {
  const couldSignIn = await canSignIn(db, userId);
  const removed = await remove();
  if (couldSignIn && !(await canSignIn(db, userId))) {
    await ensureOwnerRemains(db, userId);
    if (!caller.isIamOwner) await ensureOrgOwnersRemain(db, userId);
  }
  return removed;
}

async function canSignIn(db: Db, userId: string): Promise<boolean> {
  const text = `select from users u where u.id = $1 and u.state = 'active' and ${CAN_SIGN_IN}`;
  return (await db.query(text, [userId])).rowCount === 1;
}

/** Locks the organizations: two owners who remove theirs at once must not each count on the other. */
async function ensureOrgOwnersRemain(db: Db, userId: string): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `select o.id from organizations o
     where o.id in (select m.org_id from org_members m where m.user_id = $1 and 'ORG_OWNER' = any(m.roles))
     order by o.id for no key update`,
    [userId],
  );
  const { rowCount: without } = await db.query(
    `select from unnest($2::text[]) as o (id) where not exists (
       select from org_members m join users u on u.id = m.user_id
       where m.org_id = o.id and m.user_id <> $1 and 'ORG_OWNER' = any(m.roles) and u.state = 'active' and ${CAN_SIGN_IN})`,
    [userId, rows.map(({ id }) => id)],
  );
  if (!without) return;
  const message = 'The organization must keep at least one active ORG_OWNER with a password, token, key or secret.';
  throw new ApiError('FAILED_PRECONDITION', 'MEMBER-LAST-ORG-OWNER', message);
}
