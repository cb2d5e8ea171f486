/**
 * Deletes organizations. A deletion can be taken back for REMOVAL_DAYS, in which the organization is as inactive as a
 * deactivated one and keeps its id, its domain and everything else. Then the role `maintenance` removes it, one batch
 * a round: its imports and drafts, its users with all that is theirs, its settings, and the history of its changes.
 * Audit events are kept for their own time, and one more says what was removed. The id stays taken for good; the domain
 * becomes free. An import into several organizations stays until its own time is over, but it never runs again.
 *
 * Guarantee: nothing is removed before its time, nor after the deletion was taken back: both look at `removed_at` with
 * the row locked. Each transaction removes a bounded number of rows. Nobody can sign in or write for the organization
 * meanwhile.
 * On crash: the next round continues.
 */
import { dropUnsentMails } from '../messages/mail/outbox.ts';
import { allowLong } from '../platform/db/client.ts';
import { type AppendedEvent, SYSTEM } from '../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import { type Named, oneRow } from '../platform/db/rows.ts';
import type { Events, Imports, Organizations, Users } from '../platform/db/tables.ts';
import { ensureOwnerRemains } from './members.ts';
import { changeState, lockOrg, orgEvent, wrongState } from './organization-states.ts';

/** How long a deletion can be taken back, in days. */
const REMOVAL_DAYS = 7;
/** Until its removal begins, in milliseconds. */
export const REMOVAL_MS = REMOVAL_DAYS * 24 * 60 * 60_000;
const IS_OVER = `removed_at <= now() - interval '${REMOVAL_DAYS} days'`;

/** Users of one transaction. Their rows in other tables go with them. */
const USERS = 500;
const IMPORTS = 100;
/** Rows of the history that one transaction reads. */
const EVENTS = 20_000;

/**
 * Deletes the organization, so that it can be restored for REMOVAL_DAYS. Call it in a transaction.
 * @throws ApiError 404; 400 ORG-STATE, MEMBER-LAST-OWNER
 */
export async function deleteOrg(db: Db, orgId: string, editor: string): Promise<AppendedEvent> {
  const { removedAt } = await lockOrg(db, orgId);
  if (removedAt !== null) throw wrongState('is already deleted');
  await ensureOwnerRemains(db, { orgId });
  return changeState(db, { orgId, change: 'deleted', set: 'removed_at = $3', editor });
}

/**
 * Takes a deletion back; an organization that was deactivated before is so again. Call it in a transaction.
 * @throws ApiError 404; 400 ORG-STATE when it is not deleted, or too long ago
 */
export async function restoreOrg(db: Db, orgId: string, editor: string): Promise<AppendedEvent> {
  const { removedAt } = await lockOrg(db, orgId);
  if (removedAt === null) throw wrongState('is not deleted');
  const { rowCount: isOver } = await db.query(`select from organizations where id = $1 and ${IS_OVER}`, [orgId]);
  if (isOver) throw wrongState(`was deleted more than ${REMOVAL_DAYS} days ago`);
  return changeState(db, { orgId, change: 'restored', set: 'removed_at = null', editor });
}

/** What a deletion would remove in the end. */
export interface RemovalPreview {
  humans: number;
  machineUsers: number;
  members: number;
  imports: number;
  /** Into other organizations as well: they stay until their own time is over. */
  sharedImports: number;
  drafts: number;
  passwordSources: number;
  identityProviders: number;
  unsentMails: number;
  events: number;
}

/** SQL over `users u` of the organization `$1`, by the index `users_listed`. */
const OF_ORG = 'hashtext(u.org_id) = hashtext($1) and u.org_id = $1 and u.sequence >= 0';
/** SQL over an import `i`: it has an organization besides `$1`. */
const IS_SHARED = 'exists (select from import_orgs b where b.import_id = i.id and b.org_id <> $1)';
/** SQL: the imports with users of `$1` that have started and are not hidden. */
const IMPORTS_OF_ORG = `imports i where i.removed_to is null and i.kind <> 'draft' and i.state <> 'receiving'
  and i.id in (select import_id from import_orgs where org_id = $1)`;
/** SQL: the drafts of `$1` alone that can still be started. */
const DRAFTS_OF_ORG = `import_preparations d where d.expires_at > now()
  and exists (select from imports i where i.id = d.import_id and i.kind = 'draft' and i.state <> 'discarded')
  and (d.orgs <@ array[$1] and d.orgs <> '{}' or d.orgs = '{}' and d.org_id = $1)`;

const PREVIEW = `select
  (select count(*) from users u where ${OF_ORG} and u.kind = 'human')::float8 as humans,
  (select count(*) from users u where ${OF_ORG} and u.kind = 'machine')::float8 as "machineUsers",
  (select count(*) from org_members where org_id = $1)::float8 as members,
  (select count(*) from ${IMPORTS_OF_ORG} and i.kind = 'bulk' and not ${IS_SHARED})::float8 as imports,
  (select count(*) from ${IMPORTS_OF_ORG} and i.kind = 'bulk' and ${IS_SHARED})::float8 as "sharedImports",
  (select count(*) from ${DRAFTS_OF_ORG})::float8 as drafts,
  (select count(*) from password_sources where org_id = $1)::float8 as "passwordSources",
  (select count(*) from idps where org_id = $1)::float8 as "identityProviders",
  (select count(*) from mail_outbox m join users u on u.id = m.user_id
    where m.state = 'pending' and u.org_id = $1)::float8 as "unsentMails",
  (select count(*) from events where resource_owner = $1)::float8 as events`;

/** Counts what a deletion would remove; reads the whole history of changes. */
export function previewRemoval(pool: Pool, orgId: string): Promise<RemovalPreview> {
  return transaction(pool, async (db) => {
    await allowLong(db);
    const { rows } = await db.query<RemovalPreview>(PREVIEW, [orgId]);
    return oneRow(rows);
  });
}

/** Removes one batch of one organization whose time is over. @returns whether there may be more */
export async function removeOrgRound(pool: Pool): Promise<boolean> {
  return transaction(pool, async (db) => {
    const { rows } = await db.query<Named<Organizations, { id: 'id'; historyTo: 'history_removed_to' }>>(
      `select id, history_removed_to as "historyTo" from organizations where ${IS_OVER}
       order by removed_at limit 1 for update skip locked`,
    );
    const [org] = rows;
    if (!org) return false;
    if (org.historyTo === null && (await removeContents(db, org.id))) return true;
    const to = await removeHistory(db, org.id, org.historyTo ?? '0');
    if (to !== undefined)
      await db.query('update organizations set history_removed_to = $2 where id = $1', [org.id, to]);
    else await removeLast(db, org.id);
    return true;
  });
}

/** Everything but the history. @returns whether there may be more */
async function removeContents(db: Db, orgId: string): Promise<boolean> {
  return (await removeImports(db, orgId)) || (await removeUsers(db, orgId));
}

/** Ends imports that wait, and hides those of the organization alone, for the removal of old imports to remove. */
async function removeImports(db: Db, orgId: string): Promise<boolean> {
  await db.query(
    `update import_preparations set expires_at = now() where import_id in (select d.import_id from ${DRAFTS_OF_ORG})`,
    [orgId],
  );
  const { rows } = await db.query<Pick<Imports, 'id'>>(
    `select i.id from ${IMPORTS_OF_ORG} and (i.state = 'paused' or not ${IS_SHARED}) order by i.id limit ${IMPORTS} for update`,
    [orgId],
  );
  await db.query(
    `update imports i set
       state = case when i.state in ('running', 'paused', 'undoing') then 'cancelled' else i.state end,
       finished_at = coalesce(i.finished_at, clock_timestamp()), paused_at = null, changed_at = clock_timestamp(),
       removed_to = case when ${IS_SHARED} then null else 0 end
     where i.id = any($2::bigint[])`,
    [orgId, rows.map(({ id }) => id)],
  );
  return rows.length === IMPORTS;
}

async function removeUsers(db: Db, orgId: string): Promise<boolean> {
  const { rows } = await db.query<Pick<Users, 'id'>>(
    `select u.id from users u where ${OF_ORG} limit ${USERS} for update`,
    [orgId],
  );
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return false;
  await dropUnsentMails(db, ids);
  await db.query('delete from users where id = any($1::text[])', [ids]);
  return true;
}

/** Deletes the events among the next ones of all organizations. @returns the last one read; undefined at the end */
async function removeHistory(db: Db, orgId: string, after: string): Promise<string | undefined> {
  const { rows } = await db.query<{ to: Events['sequence'] | null }>(
    `select max(sequence) as to from (select sequence from events where sequence > $1 order by sequence limit ${EVENTS}) e`,
    [after],
  );
  const to = rows[0]?.to ?? undefined;
  const text = 'delete from events where sequence > $1 and sequence <= $2 and resource_owner = $3';
  if (to !== undefined) await db.query(text, [after, to, orgId]);
  return to;
}

const SETTINGS = [
  'idps',
  'password_sources',
  'password_age_policies',
  'password_complexity_policies',
  'login_policies',
  'branding',
] as const;

async function removeLast(db: Db, orgId: string): Promise<void> {
  for (const table of [...SETTINGS, 'org_members']) await db.query(`delete from ${table} where org_id = $1`, [orgId]);
  await db.query('delete from organizations where id = $1', [orgId]);
  await db.query('insert into removed_organizations (id) values ($1)', [orgId]);
  await orgEvent(db, { orgId, change: 'removed', editor: SYSTEM });
}
