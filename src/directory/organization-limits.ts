/**
 * Limits of organizations, which an IAM_OWNER sets. Users, imports at once and users of an import are decided here; mails
 * and text messages a day where they are sent (`messages/mail/deliver.ts`) or asked for (`messages/mail/text-cap.ts`), requests a minute where a token is checked
 * (`signin/authenticate.ts`).
 *
 * Every new user comes by a creation or by an import, and an import promises its pending users a place. So the rule is:
 * the users of an organization and the pending users of its imports are together no more than its limit. It is asked
 * at the end of every transaction that adds to that sum, with the limits of the organization locked, and never while
 * users are written: an organization without limits costs an import one lookup, and a batch nothing.
 *
 * Guarantee: transactions that add to the sum at the same time do not exceed a limit together. A limit that is set
 * below what is already there takes nothing away, it only lets nothing be added.
 */
import { ORG_LIMITS, type OrgLimit, type OrgLimits } from '../contract/organization-limits.ts';
import { allowLong } from '../platform/db/client.ts';
import { countsOf, ORG_COUNTS } from '../platform/db/counts.ts';
import { type AppendedEvent, appendEvent } from '../platform/db/events.ts';
import type { Db } from '../platform/db/pool.ts';
import { type Named, oneRow } from '../platform/db/rows.ts';
import type { OrgLimits as StoredLimit } from '../platform/db/tables.ts';
import { ApiError } from '../platform/errors.ts';
import { lockOrg } from './organization-states.ts';

/** Seconds. Imports end within minutes, mostly. */
const RETRY_AFTER_S = 30;

/** SQL: imports that can still write users. An import that is paused or out of time keeps its places until it ends. */
const OPEN = `i.state in ('running', 'paused')`;
/** SQL: the users of the organization, by the index `users_listed`. */
const usersOf = (org: string) =>
  `(select count(*) from users u where hashtext(u.org_id) = hashtext(${org}) and u.org_id = ${org} and u.sequence >= 0)::float8`;
/** SQL: pending users of open imports, without dry runs other than `$2`. */
const pendingOf = (org: string, importId: string) =>
  `(select coalesce(sum(o.total - o.succeeded - o.skipped - o.failed - o.undone), 0)
    from import_orgs o join imports i on i.id = o.import_id
    where o.org_id = ${org} and ${OPEN} and (not i.dry_run or i.id = ${importId}))::float8`;
const openImportsOf = (org: string) =>
  `(select count(*) from imports i where ${OPEN} and i.kind = 'bulk'
    and i.id in (select import_id from import_orgs where org_id = ${org}))::int`;

type LimitRow = Pick<StoredLimit, 'most'> & { name: OrgLimit };

/** The limits of the organization; what has none is absent. */
export async function limitsOf(db: Db, orgId: string): Promise<OrgLimits> {
  const { rows } = await db.query<LimitRow>(
    'select name, most from org_limits where org_id = $1 order by array_position($2, name)',
    [orgId, ORG_LIMITS],
  );
  return Object.fromEntries(rows.map(({ name, most }) => [name, most]));
}

export interface OrgUsage {
  users: number;
  /** Those yet to be written by imports that have not ended. */
  pendingUsers: number;
  importsAtOnce: number;
  /** In the day of UTC; absent: not limited, so not counted. */
  mailsPerDay?: number;
  /** In the day of UTC; absent: the organization has no limit of its own. */
  smsPerDay?: number;
  /** In the window of a minute, of all processes, with those that were refused; absent: not limited, so not counted. */
  requestsPerMinute?: number;
}

/** What the organization uses of what can be limited. @param limits its own */
export async function usageOf(db: Db, orgId: string, limits: OrgLimits): Promise<OrgUsage> {
  const { rows } = await db.query<OrgUsage>(
    `select ${usersOf('$1')} as users, ${pendingOf('$1', 'null::bigint')} as "pendingUsers", ${openImportsOf('$1')} as "importsAtOnce"`,
    [orgId],
  );
  const [mailsPerDay = 0, smsPerDay = 0, requestsPerMinute = 0] = await countsOf(db, [
    ORG_COUNTS.mails(orgId),
    ORG_COUNTS.texts(orgId),
    ORG_COUNTS.requests(orgId),
  ]);
  return {
    ...oneRow(rows),
    ...(limits.mailsPerDay === undefined ? {} : { mailsPerDay }),
    ...(limits.smsPerDay === undefined ? {} : { smsPerDay }),
    ...(limits.requestsPerMinute === undefined ? {} : { requestsPerMinute }),
  };
}

/** Replaces the limits. Call it in a transaction. @throws ApiError 404 */
export async function setLimits(db: Db, orgId: string, limits: OrgLimits, editor: string): Promise<AppendedEvent> {
  await lockOrg(db, orgId);
  const names = ORG_LIMITS.filter((name) => limits[name] !== undefined);
  const event = await appendEvent(db, {
    aggregateType: 'organization',
    aggregateId: orgId,
    resourceOwner: orgId,
    type: 'organization.limits.set',
    editor,
    payload: { limits },
  });
  // Rows that stay are updated: whoever waits for the lock of such a row must find it again.
  await db.query(
    `insert into org_limits as l (org_id, name, most) select $1, * from unnest($2::text[], $3::int[]) order by 2
     on conflict (org_id, name) do update set most = excluded.most`,
    [orgId, names, names.map((name) => limits[name])],
  );
  await db.query('delete from org_limits where org_id = $1 and name <> all($2::text[])', [orgId, names]);
  const text = 'update organizations set sequence = $2, changed_at = $3 where id = $1';
  await db.query(text, [orgId, event.sequence, event.createdAt]);
  return event;
}

interface Locked {
  orgId: string;
  limits: OrgLimits;
}

/** The limited ones of these organizations, with their limits locked until the transaction ends. */
async function lockLimits(db: Db, orgIds: readonly string[], names: readonly OrgLimit[]): Promise<Locked[]> {
  const { rows } = await db.query<LockedLimit>({
    name: 'lock-limits',
    text: `select org_id as "orgId", name, most from org_limits
      where org_id = any($1::text[]) and name = any($2::text[]) order by org_id, name for update`,
    values: [orgIds, names],
  });
  return byOrg(rows);
}

type LockedLimit = LimitRow & Named<StoredLimit, { orgId: 'org_id' }>;

function byOrg(rows: readonly LockedLimit[]): Locked[] {
  return [...Map.groupBy(rows, ({ orgId }) => orgId)].map(([orgId, of]) => ({
    orgId,
    limits: Object.fromEntries(of.map(({ name, most }) => [name, most])),
  }));
}

/**
 * Refuses a user who would be one too many. Call it in the transaction that adds the user, before it does.
 * @throws ApiError 400 ORG-LIMIT-USERS
 */
export async function requireRoomForUser(db: Db, orgId: string): Promise<void> {
  const [locked] = await lockLimits(db, [orgId], ['users']);
  if (locked) await requireUsers(db, locked, undefined);
}

/** Whether the number of the organization's users is limited. */
export async function hasUserLimit(db: Db, orgId: string): Promise<boolean> {
  const text = `select from org_limits where org_id = $1 and name = 'users'`;
  return (await db.query({ name: 'has-user-limit', text, values: [orgId] })).rowCount === 1;
}

/**
 * Refuses an import that exceeds a limit of one of its organizations. Call it at the end of the transaction that
 * accepts it, starts it or makes users of it pending again.
 * @param names the limits that matter
 * @throws ApiError 400 ORG-LIMIT-USERS, ORG-LIMIT-USERS-PER-IMPORT; 429 ORG-LIMIT-IMPORTS
 */
export async function requireWithinLimits(
  db: Db,
  importId: string,
  names: readonly OrgLimit[] = ORG_LIMITS,
): Promise<void> {
  const { rows } = await db.query<LockedLimit & { total: number }>({
    name: 'lock-limits-of-import',
    text: `select org_id as "orgId", name, most,
        (select sum(total) from import_orgs o where o.import_id = $1 and o.org_id = l.org_id)::float8 as total
      from org_limits l
      where name = any($2::text[]) and org_id in (select org_id from import_orgs where import_id = $1)
      order by org_id, name for update`,
    values: [importId, names],
  });
  for (const locked of byOrg(rows)) {
    const { orgId, limits } = locked;
    const total = rows.find((row) => row.orgId === orgId)?.total ?? 0;
    const { usersPerImport = total } = limits;
    if (total > usersPerImport) throw tooManyPerImport(orgId, usersPerImport, total);
    await requireImports(db, locked, importId);
    await requireUsers(db, locked, importId);
  }
}

function tooManyPerImport(orgId: string, most: number, total: number): ApiError {
  const message = `An import may bring ${most} users of the organization ${orgId}, and this one brings ${total}.`;
  return new ApiError('FAILED_PRECONDITION', 'ORG-LIMIT-USERS-PER-IMPORT', message);
}

/**
 * @param importId counts already; absent: it would be one more
 * @throws ApiError 429 ORG-LIMIT-IMPORTS
 */
async function requireImports(db: Db, { orgId, limits }: Locked, importId?: string): Promise<void> {
  const { importsAtOnce } = limits;
  if (importsAtOnce === undefined) return;
  const { rows } = await db.query<{ n: number; own: boolean }>(
    `select ${openImportsOf('$1')} as n,
       exists (select from imports i where i.id = $2 and ${OPEN} and i.kind = 'bulk') as own`,
    [orgId, importId ?? null],
  );
  const { n, own } = oneRow(rows);
  if (importId === undefined ? n < importsAtOnce : !own || n <= importsAtOnce) return;
  const message = `The organization ${orgId} may have ${importsAtOnce} imports that have not ended, and it has them. Try again when one ends.`;
  throw new ApiError('RESOURCE_EXHAUSTED', 'ORG-LIMIT-IMPORTS', message, { retryAfterS: RETRY_AFTER_S });
}

/** `requireWithinLimits` for an import whose users have not arrived yet. @throws ApiError 429 ORG-LIMIT-IMPORTS */
export async function requireRoomForImport(db: Db, orgId: string): Promise<void> {
  await requireImports(db, { orgId, limits: await limitsOf(db, orgId) });
}

/** Users of the import who exist already take no further place: they are skipped or updated, or fail. */
const NEW = `not exists (select from users u where u.user_name_key = t.user_name_key and u.org_id = o.org_id)
  and not exists (select from users u where u.id = t.user_id and u.org_id = o.org_id)`;

/** @param importId undefined: for one user more */
async function requireUsers(db: Db, { orgId, limits }: Locked, importId: string | undefined): Promise<void> {
  const { users } = limits;
  if (users === undefined) return;
  // One statement, so that a batch which commits meanwhile counts as written or as pending.
  const { rows } = await db.query<{ users: number; pending: number; own: number }>(
    `select ${usersOf('$1')} as users, ${pendingOf('$1', '$2')} as pending,
       (select coalesce(sum(o.total - o.succeeded - o.skipped - o.failed - o.undone), 0) from import_orgs o
         where o.import_id = $2 and o.org_id = $1)::float8 as own`,
    [orgId, importId ?? null],
  );
  const { users: there, pending, own } = oneRow(rows);
  const more = importId === undefined ? 1 : own;
  if (more === 0 || there + pending + (importId === undefined ? 1 : 0) <= users) return;
  const exact = await newOnes(db, orgId, importId);
  if (exact.there + exact.pending + (importId === undefined ? 1 : 0) <= users) return;
  const waiting = pending - (importId === undefined ? 0 : own);
  const message =
    `The organization ${orgId} may have ${users} users. It has ${there}, ` +
    `${waiting > 0 ? `${waiting} more are being imported, ` : ''}and this would be up to ${more} more.`;
  throw new ApiError('FAILED_PRECONDITION', 'ORG-LIMIT-USERS', message);
}

/** The users, and those of the pending ones that the organization does not have yet; reads the items. */
async function newOnes(db: Db, orgId: string, importId = null as string | null | undefined) {
  await allowLong(db);
  const { rows } = await db.query<{ there: number; pending: number }>(
    `select ${usersOf('$1')} as there,
       (select count(*) from imports i join import_orgs o on o.import_id = i.id
          left join import_dry_runs r on r.import_id = i.id and r.entries_of is not null
          join import_items t on t.import_id = coalesce(r.entries_of, i.id) and t.org_index = o.org_index
            and t.state = 'pending' and t.ordinal >= coalesce(r.judged_to, 0)
            and (r.entries_of is null or not exists (
              select from import_items v where v.import_id = i.id and v.ordinal = t.ordinal))
        where o.org_id = $1 and ${OPEN} and (not i.dry_run or i.id = $2) and ${NEW})::float8 as pending`,
    [orgId, importId ?? null],
  );
  return oneRow(rows);
}
