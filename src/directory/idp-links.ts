/**
 * Links: a user's accounts at external providers. Which provider a link belongs to, who holds an account, and the
 * changes of a user's links.
 *
 * A link names its provider as the old system did. The SQL function `idp_names` says which provider a name leads to in
 * an organization: to a provider of the organization with this id or alias, else to one of the instance.
 *
 * Guarantee: an account that two users of an organization hold signs in neither. Nothing adds such a link but an import,
 * which loses nothing: nobody keeps a user out by giving their account to another one. Every change is in one transaction with its event and its mail.
 */
import type { IdpLink } from '../contract/humans.ts';
import type { Rights } from '../contract/permissions.ts';
import type { UserState } from '../contract/users.ts';
import { sendNotice } from '../messages/mail/outbox.ts';
import { type AppendedEvent, appendEvent } from '../platform/db/events.ts';
import type { Db } from '../platform/db/pool.ts';
import { oneRow } from '../platform/db/rows.ts';
import { ApiError } from '../platform/errors.ts';
import { ACCOUNT_OF, IS_HELD_TWICE, JOIN_PROVIDER, NAME } from './link-accounts.ts';
import { ORG_IS_ACTIVE } from './organizations.ts';
import type { User } from './users/store.ts';
import { type LastWay, requireWayIn, type WaysInConfig } from './ways-in.ts';

/** SQL: a link `l` names the provider $1, by its id or an alias. */
const IS_NAMED = `${NAME} in (
  select lower(p.id) from idps p where p.id = $1
  union select lower(alias collate "C") from idps p, jsonb_array_elements_text(p.settings -> 'aliases') as alias
  where p.id = $1)`;

/** The rank of an IAM_OWNER, whom only providers of the instance sign in. */
export const HIGHEST_RANK = 3;

/**
 * How many rights a user has, for `signInNames`: 0 none, 1 in their organization, 2 in others too, 3 an IAM_OWNER.
 * @param orgId the organization of the user
 */
export function rankOf({ isIamOwner, orgRoles }: Rights, orgId: string): number {
  if (isIamOwner) return HIGHEST_RANK;
  if (orgRoles.size === 0) return 0;
  return [...orgRoles.keys()].every((id) => id === orgId) ? 1 : 2;
}

/**
 * SQL: the names under which users of an organization have links that sign in, each with the highest `rank` of a user
 * whom the provider may sign in. A provider of an organization needs to be set up by somebody with at least the rights
 * of the user: every user up to the rank can sign in. A user above the rank can only if both have the same roles, in
 * several organizations or without ORG_OWNER.
 * @param org SQL of its id
 */
export function signInNames(org: string): string {
  return `(select n.name, case when p.org_id is null then ${HIGHEST_RANK}
      when not exists (select from users s where s.id = p.set_by and s.state = 'active' and org_is_active(s.org_id)) then 0
      when exists (select from instance_members m where m.user_id = p.set_by and 'IAM_OWNER' = any(m.roles)) then 2
      when exists (select from org_members m
        where m.user_id = p.set_by and m.org_id = p.org_id and 'ORG_OWNER' = any(m.roles)) then 1
      else 0 end as rank
    from idp_names(${org}) n join idps p on p.id = n.idp_id where n.is_enabled)`;
}

/** A user who holds an account at a provider. */
export interface Holder {
  userId: string;
  orgId: string;
  state: UserState;
  /** Whether the organization is neither deactivated nor deleted. */
  orgIsActive: boolean;
}

/**
 * The users whose link belongs to the provider and names one of the subjects; two of one organization are no answer to
 * the question who it is.
 * @param subjects ids of one account at the provider
 * @param orgId only users of this organization
 */
export async function holdersOf(
  db: Db,
  idp: { id: string },
  subjects: readonly string[],
  orgId?: string,
): Promise<Holder[]> {
  const { rows } = await db.query<Holder>(
    `select distinct u.id as "userId", u.org_id as "orgId", u.state, ${ORG_IS_ACTIVE} as "orgIsActive"
     from ${linksTo('$2::text[]')} join organizations o on o.id = u.org_id ${JOIN_PROVIDER}
     where n.idp_id = $1 and u.kind = 'human'
       and ($3::text is null or u.org_id = $3)
       and ${IS_NAMED}
     order by 2, 1`,
    [idp.id, subjects, orgId ?? null],
  );
  return rows;
}

/** A link with what it is good for. */
export interface KnownLink extends IdpLink {
  /** The enabled provider that it belongs to. */
  provider?: { idpId: string; name: string };
  /** Another user of the organization has the same account, so that neither signs in with it. */
  isHeldTwice?: true;
}

interface LinkRow extends IdpLink {
  provider: KnownLink['provider'] | null;
  isHeldTwice: boolean;
}

/** SQL: joins `users u`, whose the link `l` is. `offset 0`: by index, whatever is known of the size of the tables. */
const JOIN_USER = 'cross join lateral (select * from users where id = l.user_id offset 0) u';

/** SQL: the links `l` whose account is one of the subjects, and their users `u`. */
const linksTo = (subjects: string) =>
  `(select * from user_idp_links where external_user_id = any(${subjects}) offset 0) l ${JOIN_USER}`;

/** The user's accounts at providers. */
export async function linksOf(db: Db, userId: string): Promise<KnownLink[]> {
  const { rows } = await db.query<LinkRow>(
    `select l.idp_id as "idpId", l.external_user_id as "userId", l.display_name as "userName",
       case when n.is_enabled then jsonb_build_object('idpId', n.idp_id, 'name', p.name) end as provider,
       ${IS_HELD_TWICE} as "isHeldTwice"
     from user_idp_links l join users u on u.id = l.user_id ${JOIN_PROVIDER} left join idps p on p.id = n.idp_id
     where l.user_id = $1 order by l.idp_id, l.external_user_id`,
    [userId],
  );
  return rows.map(({ provider, isHeldTwice, ...link }) => ({
    ...link,
    ...(provider ? { provider } : {}),
    ...(isHeldTwice ? { isHeldTwice: true as const } : {}),
  }));
}

/** The names under which each of these users has links to accounts that nobody else of their organization has. */
export async function namesOfLinks(db: Db, userIds: readonly string[]): Promise<Map<string, string[]>> {
  const { rows } = await db.query<{ id: string; names: string[] }>(
    `select u.id, array_agg(distinct l.idp_id) as names
     from unnest($1::text[]) as wanted (id)
       cross join lateral (select * from user_idp_links where user_id = wanted.id offset 0) l ${JOIN_USER} ${JOIN_PROVIDER}
     where not ${IS_HELD_TWICE} group by u.id`,
    [userIds],
  );
  return new Map(rows.map(({ id, names }) => [id, names]));
}

/**
 * Adds the links of a user, who is new or whose row is locked.
 * @throws ApiError 409 IDP-LINK-HELD
 */
export async function insertLinks(
  db: Db,
  { id, orgId }: Pick<User, 'id' | 'orgId'>,
  links: readonly IdpLink[],
): Promise<void> {
  // In one order, so that two calls with the same accounts do not wait for each other.
  for (const subject of [...new Set(links.map(({ userId }) => userId))].sort()) {
    await db.query(`select pg_advisory_xact_lock(hashtext('link of ' || $1), hashtext($2))`, [orgId, subject]);
  }
  for (const link of links) {
    const holder = await holderIn(db, orgId, link);
    if (holder !== undefined) throw held(holder === id);
  }
  await db.query(
    `insert into user_idp_links (user_id, idp_id, external_user_id, display_name)
     select $1, * from unnest($2::text[], $3::text[], $4::text[])`,
    [id, links.map((l) => l.idpId), links.map((l) => l.userId), links.map((l) => l.userName)],
  );
}

/**
 * Links an account to the user, whose row is locked, and tells their address.
 * @param link `idpId`: the id of the provider, or another name for it
 * @throws ApiError 409 IDP-LINK-HELD
 */
export async function addLink(db: Db, user: User, link: IdpLink, editor: string): Promise<AppendedEvent> {
  await insertLinks(db, user, [link]);
  await sendNotice(db, user, 'link_added', editor);
  return record(db, user, { type: 'user.human.link.added', editor, idpId: link.idpId });
}

/** The user of the organization who has the account already. */
async function holderIn(db: Db, orgId: string, { idpId, userId }: IdpLink): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>(
    `select u.id from ${linksTo('array[$3]')} ${JOIN_PROVIDER}
     where u.org_id = $1
       and ${ACCOUNT_OF} = coalesce((select idp_id from idp_names($1) where name = lower($2 collate "C")),
         lower($2 collate "C")) limit 1`,
    [orgId, idpId, userId],
  );
  return rows[0]?.id;
}

function held(bySame: boolean): ApiError {
  const who = bySame ? 'The user' : 'Another user of the organization';
  return new ApiError('ALREADY_EXISTS', 'IDP-LINK-HELD', `${who} has a link to this account already.`);
}

const LAST_LINK: LastWay = {
  id: 'IDP-LINK-LAST-WAY',
  message: 'This link is the last way to sign in. Set a password first, or link another account.',
};

/**
 * Removes a link of the user, whose row is locked, and tells their address.
 * @param link `idpId`: as the link names its provider, or the id of the provider
 * @throws ApiError 404 IDP-LINK-NOT-FOUND; for users who remove their own, 400 IDP-LINK-LAST-WAY
 */
export async function removeLink(
  db: Db,
  user: User,
  { idpId, userId }: Pick<IdpLink, 'idpId' | 'userId'>,
  editor: string,
  config: WaysInConfig,
): Promise<AppendedEvent> {
  const { rows } = await db.query<Pick<IdpLink, 'idpId'>>(
    `delete from user_idp_links d using user_idp_links l join users u on u.id = l.user_id ${JOIN_PROVIDER}
     where l.user_id = $1 and l.external_user_id = $3 and (l.idp_id = $2 or n.idp_id = $2)
       and d.user_id = l.user_id and d.idp_id = l.idp_id and d.external_user_id = l.external_user_id
     returning d.idp_id as "idpId"`,
    [user.id, idpId, userId],
  );
  const [removed] = rows;
  if (!removed) throw new ApiError('NOT_FOUND', 'IDP-LINK-NOT-FOUND', 'The user has no link to this account.');
  if (editor === user.id) await requireWayIn(db, user, config, LAST_LINK);
  await sendNotice(db, user, 'link_removed', editor);
  return record(db, user, { type: 'user.human.link.removed', editor, idpId: removed.idpId });
}

async function record(
  db: Db,
  user: User,
  { type, editor, idpId }: { type: string; editor: string; idpId: string },
): Promise<AppendedEvent> {
  const event = await appendEvent(db, {
    aggregateType: 'user',
    aggregateId: user.id,
    resourceOwner: user.orgId,
    type,
    editor,
    payload: { idpId },
  });
  const text = 'update users set sequence = $2, changed_at = $3 where id = $1';
  await db.query(text, [user.id, event.sequence, event.createdAt]);
  return event;
}

/** Accounts that several users of one organization hold, so that none of them signs in with it. */
export interface Clash {
  orgId: string;
  /** The id of the provider, or the name under which the links know it. */
  idpId: string;
  /** How many accounts. */
  accounts: number;
  /** How many users hold them. */
  users: number;
}

/** The clashes of the instance, the largest first. Reads the index of accounts once. @param limit of the list */
export async function linkClashes(db: Db, limit = 20): Promise<{ clashes: Clash[]; total: number }> {
  const { rows } = await db.query<Clash & { total: number }>(
    `with shared as materialized (
       select external_user_id from user_idp_links group by external_user_id having count(*) > 1),
     clashing as (
       select u.org_id, ${ACCOUNT_OF} as idp_id, l.external_user_id, count(distinct u.id) as users
       from shared join user_idp_links l using (external_user_id) join users u on u.id = l.user_id ${JOIN_PROVIDER}
       group by 1, 2, 3 having count(distinct u.id) > 1)
     select org_id as "orgId", idp_id as "idpId", count(*)::int as accounts, sum(users)::int as users,
       sum(count(*)) over ()::int as total
     from clashing group by 1, 2 order by 3 desc, 1, 2 limit $1`,
    [limit],
  );
  return { clashes: rows.map(({ total: _, ...clash }) => clash), total: rows[0]?.total ?? 0 };
}

/** The links that belong to a provider. Reads the table of links up to the limit. @param limit counting stops here */
export async function countLinks(db: Db, idp: { id: string }, limit: number): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from (
       select from user_idp_links l join users u on u.id = l.user_id ${JOIN_PROVIDER}
       where n.idp_id = $1 and ${IS_NAMED} limit $2) as r`,
    [idp.id, limit],
  );
  return oneRow(rows).n;
}
