/**
 * Whose rights an import has. Its creator, whoever uploaded a file of it or converted, checked, started, resumed or
 * retried it, and whoever corrected entries: each entry may change only what all of those may change who made it and
 * who run it. So nobody gains rights by a part of somebody else's import.
 *
 * Guarantee: nothing is written with rights that were taken away. An import starts only while everybody who made a
 * part of it may import into all its organizations, and their rights stay as they were until that transaction ends.
 * When they are taken away later, a trigger of members and users stops the import in the same transaction
 * (`stop_imports_of` in the migrations).
 */
import { type Caller, permissionDenied } from '../../contract/permissions.ts';
import { ORG_IS_ACTIVE, orgInactive } from '../../directory/organizations.ts';
import type { Db } from '../../platform/db/pool.ts';
import { oneRow } from '../../platform/db/rows.ts';
import { ApiError } from '../../platform/errors.ts';

/** Users of imports whose rights are needed, by id. */
export interface Actors {
  /** Each made a part that decides about every entry, or runs the import. */
  whole: string[];
  /** Whoever runs it: the editor of what it changes. */
  runBy: string;
}

/** SQL over `imports`: the members of `Actors`. */
export const ACTORS = `coalesce(run_by, created_by) as "runBy",
  array(select author from import_authors a where a.import_id = imports.id and a.whole
    union select created_by union select run_by where run_by is not null) as whole`;

/**
 * Records that a user made a part of the import. Call it before or with the change.
 * @param part `whole`: it decides about every entry; `entries`: `import_items.changed_by` names the user as well
 */
export async function addAuthor(
  db: Db,
  importId: string,
  userId: string,
  part: 'whole' | 'entries' = 'whole',
): Promise<void> {
  await db.query(
    `insert into import_authors as a (import_id, author, whole) values ($1, $2, $3)
     on conflict (import_id, author) do update set whole = true where excluded.whole and not a.whole`,
    [importId, userId, part === 'whole'],
  );
}

/** Gives the copy of an import's entries, which a check makes, the same makers. */
export async function copyAuthors(db: Db, from: string, to: string): Promise<void> {
  await db.query(
    `insert into import_authors (import_id, author, whole)
     select $2, author, bool_or(whole) from (
       select author, whole from import_authors where import_id = $1
       union all select created_by, true from imports where id = $1) a
     group by author on conflict do nothing`,
    [from, to],
  );
}

/**
 * Everybody who made a part of the import, and these callers, may import into all these organizations; until the
 * transaction ends, nobody can take that away. Call it before the row of an import that has started is locked.
 * @throws ApiError 400 IMPORT-RIGHTS, ORG-INACTIVE
 */
export async function requireAuthors(
  db: Db,
  importId: string,
  orgIds: readonly string[],
  callers: readonly string[] = [],
): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `select created_by as id from imports where id = $1 union select author from import_authors where import_id = $1`,
    [importId],
  );
  const ids = new Set([...rows.map(({ id }) => id), ...callers]);
  if (await haveRights(db, [...ids], orgIds)) return;
  const message =
    'Somebody who made a part of this import may not import into its organizations, or no longer. Send its users in a new import.';
  throw new ApiError('FAILED_PRECONDITION', 'IMPORT-RIGHTS', message);
}

/**
 * The caller, who was read when the request began, may still import into all of these organizations, until the
 * transaction ends.
 * @throws ApiError 403, 400 ORG-INACTIVE
 */
export async function requireRights(db: Db, caller: Pick<Caller, 'userId'>, orgIds: readonly string[]): Promise<void> {
  if (!(await haveRights(db, [caller.userId], orgIds))) throw permissionDenied();
}

/**
 * Whether the organizations of the import and of its makers are active. Locks them before any other row, so that they
 * stay so until the transaction ends.
 * @throws ApiError 400 ORG-INACTIVE when one of `orgIds` is not, or was removed
 */
async function lockOrgs(db: Db, userIds: readonly string[], orgIds: readonly string[]): Promise<boolean> {
  const { rows } = await db.query<{ id: string; isActive: boolean }>(
    `select o.id, ${ORG_IS_ACTIVE} as "isActive" from organizations o
     where o.id = any($2::text[]) or o.id in (select org_id from users where id = any($1::text[]))
     order by o.id for share`,
    [userIds, orgIds],
  );
  const stopped = rows.filter(({ isActive }) => !isActive);
  const active = new Set(rows.filter(({ isActive }) => isActive).map(({ id }) => id));
  const target = orgIds.find((id) => !active.has(id));
  if (target !== undefined) throw orgInactive(target);
  return stopped.length === 0;
}

/**
 * Whether all of these users may import into all of these organizations; it stays so until the transaction ends.
 * @throws ApiError 400 ORG-INACTIVE when one of the organizations is not active
 */
async function haveRights(db: Db, userIds: readonly string[], orgIds: readonly string[]): Promise<boolean> {
  if (!(await lockOrgs(db, userIds, orgIds))) return false;
  const { rows } = await db.query<{ active: number; owners: string[]; members: string[] }>(RIGHTS, [userIds, orgIds]);
  const { active, owners, members } = oneRow(rows);
  if (active !== userIds.length) return false;
  const others = userIds.filter((userId) => !owners.includes(userId));
  const roles = members.filter((userId) => others.includes(userId)).length;
  return roles === others.length * new Set(orgIds).size;
}

/** Locks users, then their roles; a subquery of the list runs when its turn comes. */
const RIGHTS = `with active as materialized (
    select id from users where id = any($1::text[]) and state = 'active' order by id for share),
  owners as materialized (
    select user_id as id from instance_members where user_id = any($1::text[]) and 'IAM_OWNER' = any(roles)
    order by user_id for share),
  members as materialized (
    select user_id as id from org_members
    where user_id = any($1::text[]) and org_id = any($2::text[]) and 'ORG_OWNER' = any(roles)
    order by org_id, user_id for share)
  select (select count(*) from active)::int as active, array(select id from owners) as owners,
    array(select id from members) as members`;
