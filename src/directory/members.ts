/**
 * Members: the roles of users on an organization or on the instance, and the credentials of owners, without which
 * nobody could manage the organization or the instance.
 *
 * Guarantee: the instance never loses its last active IAM_OWNER who can sign in, and the last IAM_OWNER keeps a
 * credential. So does the last ORG_OWNER of an organization, unless an IAM_OWNER removes it, who can give a new one. To
 * replace the credential, add the new one first.
 */
import { type Caller, covers, type Rights } from '../contract/permissions.ts';
import { type AppendedEvent, appendEvent } from '../platform/db/events.ts';
import type { Db } from '../platform/db/pool.ts';
import { oneRow } from '../platform/db/rows.ts';
import type { InstanceMembers, Organizations, OrgMembers, Users } from '../platform/db/tables.ts';
import { ApiError } from '../platform/errors.ts';
import type { ResultPage } from '../platform/http/answers.ts';

/** The owner of resources that belong to no organization. */
export const INSTANCE = 'instance';

/** What a user is a member of. */
export type Scope = { kind: 'instance' } | { kind: 'organization'; orgId: string };

export interface Member {
  userId: string;
  roles: string[];
  sequence: string;
  createdAt: Date;
  changedAt: Date;
}

/** @throws ApiError 409 when the user is already a member */
export async function addMember(
  db: Db,
  scope: Scope,
  member: { userId: string; roles: readonly string[] },
  editor: string,
): Promise<Member> {
  const { table, last } = tableOf(scope, 4);
  const { sequence } = await memberEvent(db, scope, 'added', member, editor);
  const { rows } = await db.query<MemberRow>(
    `insert into ${table} (user_id, roles, sequence${last.length ? ', org_id' : ''})
     values ($1, $2, $3${last.length ? ', $4' : ''}) on conflict do nothing returning ${COLUMNS}`,
    [member.userId, member.roles, sequence, ...last],
  );
  if (!rows[0]) throw new ApiError('ALREADY_EXISTS', 'MEMBER-EXISTS', 'The user is already a member.');
  return toMember(rows[0]);
}

/**
 * Ends a membership.
 * @throws ApiError 404 when there is none, FAILED_PRECONDITION for the last IAM_OWNER
 */
export async function removeMember(db: Db, scope: Scope, userId: string, editor: string): Promise<AppendedEvent> {
  if (scope.kind === 'instance') await ensureOwnerRemains(db, { userId });
  const { table, inScope, last } = tableOf(scope, 2);
  const { rowCount } = await db.query(`delete from ${table} where user_id = $1 and ${inScope}`, [userId, ...last]);
  if (!rowCount) throw new ApiError('NOT_FOUND', 'MEMBER-NOT-FOUND', 'The user is not a member.');
  return memberEvent(db, scope, 'removed', { userId }, editor);
}

/** Members in the order of their user ids, and their total number. */
export async function listMembers(
  db: Db,
  scope: Scope,
  page: ResultPage,
): Promise<{ total: string; members: Member[] }> {
  const all = tableOf(scope, 1);
  const count = `select count(*) as total from ${all.table} where ${all.inScope}`;
  const { rows: counted } = await db.query<{ total: string }>(count, all.last);
  const { table, inScope, last } = tableOf(scope, 3);
  const { rows } = await db.query<MemberRow>(
    `select ${COLUMNS} from ${table} where ${inScope} order by user_id ${page.asc ? 'asc' : 'desc'} limit $1 offset $2`,
    [page.limit, page.offset, ...last],
  );
  return { total: oneRow(counted).total, members: rows.map(toMember) };
}

/** All roles of a user, on all organizations. */
export async function rightsOf(db: Db, userId: string): Promise<Rights> {
  return (await rightsOfAll(db, [userId])).get(userId) ?? NO_RIGHTS;
}

export const NO_RIGHTS: Rights = { isIamOwner: false, orgRoles: new Map() };

/**
 * All roles of each of these users who is a member of anything, on all organizations.
 * @param lock so that nobody takes one away until the transaction ends
 */
export async function rightsOfAll(
  db: Db,
  userIds: readonly string[],
  lock: '' | 'for share' = '',
): Promise<Map<string, Rights>> {
  const instance = await db.query<Pick<InstanceMembers, 'user_id' | 'roles'>>(
    `select user_id, roles from instance_members where user_id = any($1::text[]) order by user_id ${lock}`,
    [userIds],
  );
  const orgs = await db.query<Pick<OrgMembers, 'user_id' | 'org_id' | 'roles'>>(
    `select user_id, org_id, roles from org_members where user_id = any($1::text[]) order by org_id, user_id ${lock}`,
    [userIds],
  );
  const iamOwners = new Set(instance.rows.filter(({ roles }) => roles.includes('IAM_OWNER')).map((row) => row.user_id));
  const orgRoles = Map.groupBy(orgs.rows, (row) => row.user_id);
  const members = new Set([...instance.rows, ...orgs.rows].map((row) => row.user_id));
  return new Map(
    [...members].map((userId) => [
      userId,
      {
        isIamOwner: iamOwners.has(userId),
        orgRoles: new Map(orgRoles.get(userId)?.map((row) => [row.org_id, row.roles])),
      },
    ]),
  );
}

/** What users may do now: the rights of those who are active; nothing for all others. @param lock as for `rightsOfAll` */
export async function activeRightsOf(
  db: Db,
  userIds: readonly string[],
  lock: '' | 'for share' = '',
): Promise<Map<string, Rights>> {
  const { rows: stopped } = await db.query<Pick<Users, 'id'>>(
    `select id from users where id = any($1::text[]) and (state <> 'active' or not org_is_active(org_id))`,
    [userIds],
  );
  const rights = await rightsOfAll(db, userIds, lock);
  for (const { id } of stopped) rights.delete(id);
  return rights;
}

/**
 * Those of these users about whom this user may decide now: whoever has rights needs somebody with at least these
 * rights. So nobody becomes somebody else by the settings of a password source or an identity provider.
 * @param setBy who made the settings, by user id; null: nobody knows
 */
export async function decidedBy(db: Db, setBy: string | null, userIds: readonly string[]): Promise<string[]> {
  const members = await rightsOfAll(db, userIds);
  if (members.size === 0) return [...userIds];
  const rights = setBy === null ? undefined : (await activeRightsOf(db, [setBy])).get(setBy);
  const caller = { userId: setBy ?? '', orgId: '', ...(rights ?? NO_RIGHTS) };
  return userIds.filter((userId) => covers(caller, members.get(userId) ?? NO_RIGHTS));
}

/** SQL over `users u`: the user has a credential. A password that must be changed counts. */
export const CAN_SIGN_IN = `(u.password_hash is not null or u.secret_hash is not null
  or exists (select from personal_access_tokens t where t.user_id = u.id and coalesce(t.expires_at > now(), true))
  or exists (select from machine_keys k where k.user_id = u.id and coalesce(k.expires_at > now(), true)))`;

/** SQL over `instance_members m` and `users u`: somebody who can administer the instance now. */
const IS_IAM_OWNER = `'IAM_OWNER' = any(m.roles) and u.state = 'active' and org_is_active(u.org_id) and ${CAN_SIGN_IN}`;

/**
 * Call it before a user stops being a member of the instance or stops being active, or all users of an organization do;
 * other such changes wait until the transaction ends. Owners who are inactive or have no credential do not count: nobody
 * could reactivate them or give them one.
 * @throws ApiError FAILED_PRECONDITION when the instance would have no active IAM_OWNER left
 */
export async function ensureOwnerRemains(db: Db, leaving: { userId: string } | { orgId: string }): Promise<void> {
  const [column, id] = 'userId' in leaving ? ['u.id', leaving.userId] : ['u.org_id', leaving.orgId];
  const members = 'select 1 from instance_members m join users u on u.id = m.user_id';
  if (!(await db.query(`${members} where ${column} = $1 limit 1`, [id])).rowCount) return;
  await db.query('lock table instance_members in share row exclusive mode');
  const { rowCount: others } = await db.query(`${members} where ${column} <> $1 and ${IS_IAM_OWNER} limit 1`, [id]);
  if (others) return;
  const who = 'userId' in leaving ? 'The instance must keep at least one' : 'Another organization must have an';
  const message = `${who} active IAM_OWNER with a password, token, key or secret.`;
  throw new ApiError('FAILED_PRECONDITION', 'MEMBER-LAST-OWNER', message);
}

/**
 * Returns the result of `remove`, which removes a credential of the user; call it in a transaction.
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
    await ensureOwnerRemains(db, { userId });
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
  const { rows } = await db.query<Pick<Organizations, 'id'>>(
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

/** The `resourceOwner` of a scope's members. */
export function ownerOf(scope: Scope): string {
  return scope.kind === 'instance' ? INSTANCE : scope.orgId;
}

function memberEvent(
  db: Db,
  scope: Scope,
  change: 'added' | 'removed',
  payload: Record<string, unknown>,
  editor: string,
): Promise<AppendedEvent> {
  const id = ownerOf(scope);
  const type = `${scope.kind}.member.${change}`;
  return appendEvent(db, { aggregateType: scope.kind, aggregateId: id, resourceOwner: id, type, editor, payload });
}

const COLUMNS = 'user_id, roles, sequence, created_at, changed_at';

/** The table of a scope; the id of its organization, if any, is the last parameter of each statement. */
function tableOf(scope: Scope, parameter: number): { table: string; inScope: string; last: string[] } {
  if (scope.kind === 'instance') return { table: 'instance_members', inScope: 'true', last: [] };
  return { table: 'org_members', inScope: `org_id = $${parameter}`, last: [scope.orgId] };
}

type MemberRow = Pick<OrgMembers, 'user_id' | 'roles' | 'sequence' | 'created_at' | 'changed_at'>;

function toMember(row: MemberRow): Member {
  const { user_id: userId, roles, sequence, created_at: createdAt, changed_at: changedAt } = row;
  return { userId, roles, sequence, createdAt, changedAt };
}
