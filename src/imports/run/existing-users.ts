/**
 * What an import does with the users of a batch who exist: loads them, and decides the outcome of each item by the
 * import's rule for existing users. Writes nothing, so that a dry run reports what the import itself would do.
 *
 * Guarantee: what `lock` names stays as it was read until the transaction ends. Rows are read only by index: the
 * planner's wrong estimates for freshly copied rows would make it scan whole tables for a few of them.
 */
import { aliasKey } from '../../contract/idp-presets.ts';
import { covers } from '../../contract/permissions.ts';
import { namesOfLinks, rankOf, signInNames } from '../../directory/idp-links.ts';
import { activeRightsOf, NO_RIGHTS, rightsOfAll } from '../../directory/members.ts';
import type { Db } from '../../platform/db/pool.ts';
import { type Named, oneRow } from '../../platform/db/rows.ts';
import type { ImportOrgs, UserPasskeys, Users } from '../../platform/db/tables.ts';
import type { ErrorBody } from '../../platform/errors.ts';
import type { Extras } from '../entries/factors.ts';
import { FACT, USUAL } from '../entries/facts.ts';
import { itemsOfBatch } from '../entries/item.ts';
import { joinedNames, namesOfPasskeys } from '../entries/link-names.ts';
import { omittedOf } from '../entries/notes.ts';
import type { ExistingRule } from '../entries/options.ts';
import { isNumberEnough } from '../entries/sign-in.ts';
import { ACTORS, type Actors } from '../intake/authority.ts';
import { type CandidateItem, type CandidateUser, type Difference, difference } from './difference.ts';
import { ERRORS } from './write-batch.ts';

/** The options of the import that are relevant here. */
interface ImportRules extends Actors {
  rule: ExistingRule;
  leavesOutEnterprise: boolean;
}

export interface Candidates extends ImportRules {
  /** In the order of the body. */
  items: CandidateItem[];
  /** The target users by id: those with an item's id or, where no id was sent, with its name. */
  users: Map<string, CandidateUser>;
  /** The users that have the items' names, in any organization; for the keys see `nameOf`. */
  names: Map<string, NameHolder>;
  /** The users who have the items' passkeys, by credential id. */
  passkeys: Map<string, PasskeyHolder>;
  /** The items' ids that deleted users had, with the organization that may use each again. */
  removed: Map<string, string>;
  /** The organizations that mail a user only in need (`import_mails`), and whether that includes users without a password. */
  quiet: ReadonlyMap<string, QuietOrg>;
  /** The organizations in which passkeys can be added, of items that want one. */
  withPasskeys: ReadonlySet<string>;
  /** The organizations whose ids may be named; absent: all. Only a dry run leaves ids out. */
  known?: ReadonlySet<string> | undefined;
}

interface QuietOrg {
  withoutPassword: boolean;
  /** The name of passkeys that sign in. */
  passkey: string | null;
  /** Verified numbers sign in. */
  byNumber: boolean;
  /** The names of links that sign in, each with the highest rank of a user whom it does. */
  links: ReadonlyMap<string, number>;
}

type NameHolder = Pick<CandidateUser, 'id' | 'kind'>;
type PasskeyHolder = Pick<CandidateUser, 'id' | 'org_id'>;

/**
 * Which users an entry may not change: those with more rights than anybody who made the entry or runs the import, by
 * the roles of all at the time of the change. So an import with `onExisting=update` cannot be used to gain their rights.
 */
export interface Access {
  /** The users with more rights than an actor, by the actor's id. */
  above: ReadonlyMap<string, ReadonlySet<string>>;
  iamOwners: ReadonlySet<string>;
  /** The ranks of users with rights; see directory/idp-links.ts. */
  ranks: ReadonlyMap<string, number>;
}

/** The outcome of an item. */
export type Verdict = { item: CandidateItem } & (
  | { state: 'create' }
  | { state: 'update'; difference: Difference }
  | { state: 'skipped'; userId: string }
  | { state: 'failed'; error: ErrorBody }
);

/** For the rest of the transaction: every table is read by a list of keys, and the results are joined by hash. */
const BY_INDEX = 'set local enable_seqscan = off; set local enable_nestloop = off';

const COMMON = `user_name, user_name_key, given_name, family_name, nick_name, display_name, preferred_language, gender,
  email, email_key, email_verified, phone, phone_verified, password_hash, password_change_required`;

/** SQL over an item `i` and its organization `o`: the columns of `CandidateItem`. */
const CANDIDATE = `i.ordinal, i.org_index, o.org_id, i.user_id, i.user_state, ${COMMON.replace(/\w+/g, 'i.$&')},
       i.extras -> 'unsaid' as omitted, i.password_sealed is not null as is_sealed,
       i.totp_sealed is not null as has_totp, i.changed_by, i.sign_in, i.links,
       jsonb_path_query_array(i.extras, '$.passkeys[*].id') as passkeys`;

/** Decides the outcomes of the items. @param access to the users, for an import that updates them */
export function decideOutcomes(candidates: Candidates, access: Access): Verdict[] {
  const updated = new Set<string>();
  const given = new Set<string>();
  return candidates.items.map((item): Verdict => {
    const user = ownUser(candidates, item);
    const error = user && updated.has(user.id) ? ERRORS.twice : passkeyProblem(candidates, item, user, given);
    if (candidates.rule !== 'update' || !user) return { item, ...withoutUpdate(candidates, item, user, error) };
    const refused = refusal(item, user) ?? error;
    if (refused) return { item, state: 'failed', error: refused };
    updated.add(user.id);
    const { leavesOutEnterprise } = candidates;
    const [mails, rank] = [mailsOf(candidates, item.org_id), access.ranks.get(user.id) ?? 0];
    const found = difference(item, user, { mails, leavesOutEnterprise, rank });
    const problem = changeProblem(candidates, item, found, access);
    return problem ? { item, state: 'failed', error: problem } : { item, state: 'update', difference: found };
  });
}

/** Whether a user of the organization for whom a mail is due gets it; see `import_mails`. */
export function mailsOf({ quiet }: Pick<Candidates, 'quiet'>, orgId: string): (user: MailedUser) => boolean {
  const rule = quiet.get(orgId);
  if (rule === undefined) return () => true;
  const highest = (link: string) => rule.links.get(aliasKey(link)) ?? -1;
  return ({ hasPassword, links, rank = 0, facts }) => {
    if (hasPassword || !rule.withoutPassword || links.some((link) => rank <= highest(link))) return false;
    const byPasskey = rule.passkey !== null && links.includes(rule.passkey);
    return !byPasskey && !(rule.byNumber && isNumberEnough(facts));
  };
}

/** What decides whether a user has a way in without the mail. */
export interface MailedUser {
  hasPassword: boolean;
  links: readonly string[];
  rank?: number;
  facts: number;
}

type Decision = { state: 'create' } | { state: 'skipped'; userId: string } | { state: 'failed'; error: ErrorBody };

/**
 * Ids are unique in the instance, also the ids of deleted users; names are unique in the organization. Only a human
 * user of the organization can be skipped. A name that the organization has comes before an id of another organization:
 * otherwise the caller, who knows the name, would learn about the id without creating a user.
 * @param user of the item's organization
 * @param passkeyTaken why the user could not be created, if only for a passkey
 */
function withoutUpdate(
  candidates: Candidates,
  item: CandidateItem,
  user: CandidateUser | undefined,
  passkeyTaken: ErrorBody | undefined,
): Decision {
  const { rule, names } = candidates;
  const sentId = !item.omitted.includes('userId');
  if (sentId && user) {
    const error = refusal(item, user);
    return rule === 'skip' && !error ? { state: 'skipped', userId: user.id } : failed(error ?? ERRORS.idTaken);
  }
  const holder = names.get(nameOf(item.org_id, item.user_name_key));
  if (rule === 'skip' && holder?.kind === 'human') {
    return { state: 'skipped', userId: sentId ? item.user_id : holder.id };
  }
  if (holder) return failed(ERRORS.nameTaken);
  if (isTakenElsewhere(candidates, item)) return failed(ERRORS.idTaken);
  return passkeyTaken ? failed(passkeyTaken) : { state: 'create' };
}

/**
 * Whether another user has a passkey of the item. A dry run does not tell of those of other organizations.
 * @param given the credential ids of earlier items, to which those of this one are added
 */
function passkeyProblem(
  { passkeys, known }: Candidates,
  item: CandidateItem,
  user: CandidateUser | undefined,
  given: Set<string>,
): ErrorBody | undefined {
  const ids = item.passkeys ?? [];
  const holders = ids.flatMap((id) => passkeys.get(id) ?? []);
  const isTaken = holders.some(({ id, org_id }) => id !== (user?.id ?? item.user_id) && (known?.has(org_id) ?? true));
  if (isTaken) return ERRORS.passkeyTaken;
  if (ids.some((id) => given.has(id))) return ERRORS.passkeyTwice;
  for (const id of ids) given.add(id);
  return undefined;
}

function ownUser({ names, users }: Candidates, item: CandidateItem): CandidateUser | undefined {
  const user = users.get(targetId(item, names) ?? '');
  return user?.org_id === item.org_id ? user : undefined;
}

function isTakenElsewhere({ users, removed, known }: Candidates, item: CandidateItem): boolean {
  const holder = users.get(item.user_id)?.org_id ?? removed.get(item.user_id) ?? item.org_id;
  return holder !== item.org_id && (known?.has(holder) ?? true);
}

function failed(error: ErrorBody): Decision {
  return { state: 'failed', error };
}

/** Why this user of the item's organization is not a valid target for the item. */
function refusal(item: CandidateItem, user: CandidateUser): ErrorBody | undefined {
  if (user.kind === 'human') return undefined;
  return item.omitted.includes('userId') ? ERRORS.nameTaken : ERRORS.idTaken;
}

function changeProblem(
  { names, whole }: Candidates,
  item: CandidateItem,
  { user, next }: Difference,
  { above, iamOwners }: Access,
): ErrorBody | undefined {
  const actors = [...whole, ...(item.changed_by ?? [])];
  if (actors.some((actor) => above.get(actor)?.has(user.id))) return ERRORS.outranksCaller;
  const isStopped = next.state !== user.state && (next.state === 'inactive' || next.state === 'locked');
  if (isStopped && iamOwners.has(user.id)) return ERRORS.stopsOwner;
  const holder = names.get(nameOf(item.org_id, next.user_name_key));
  return holder && holder.id !== user.id ? ERRORS.nameTaken : undefined;
}

/** Loads the pending items. Call it in a transaction. @param lock what stays as it was read until the transaction ends */
export async function loadCandidates(
  db: Db,
  importId: string,
  ordinals: number[],
  lock: 'items' | 'items and users',
): Promise<Candidates> {
  await db.query(BY_INDEX);
  const { rows } = await db.query<StoredItem>(
    `select ${CANDIDATE}
     from ${itemsOfBatch('$2')} join import_orgs o on o.import_id = $1 and o.org_index = i.org_index
     where i.state = 'pending'
     order by i.ordinal for update of i`,
    [importId, ordinals],
  );
  return candidatesOf(db, importId, rows, lock === 'items and users');
}

/**
 * The entries in a range that the check of their draft has not settled. Call it in a transaction. They are not locked, as
 * nobody changes the entries of a draft that is being checked.
 */
export async function loadEntries(
  db: Db,
  { checkId, entriesOf, from, to }: { checkId: string; entriesOf: string; from: number; to: number },
): Promise<Candidates> {
  await db.query(BY_INDEX);
  const { rows } = await db.query<StoredItem>(
    `select ${CANDIDATE}
     from import_items i join import_orgs o on o.import_id = $1 and o.org_index = i.org_index
     where i.import_id = $2 and i.ordinal >= $3 and i.ordinal < $4 and i.state = 'pending'
       and not exists (select from import_items v
         where v.import_id = $1 and v.ordinal >= $3 and v.ordinal < $4 and v.ordinal = i.ordinal)
     order by i.ordinal`,
    [checkId, entriesOf, from, to],
  );
  return candidatesOf(db, checkId, rows, false);
}

/** A row of `CANDIDATE`. */
type StoredItem = Omit<CandidateItem, 'omitted'> & { omitted: Extras['unsaid'] | null };

async function candidatesOf(db: Db, importId: string, stored: StoredItem[], locksUsers: boolean) {
  const items = stored.map((item): CandidateItem => Object.assign(item, { omitted: omittedOf(item.omitted ?? []) }));
  const rules = await loadRules(db, importId);
  const names = await holdersOf(db, items);
  const ids = items.map((item) => targetId(item, names)).filter((id) => id !== undefined);
  const removed = await removedIds(db, items);
  const quiet = await quietOrgs(db, items);
  const passkeys = await holdersOfPasskeys(db, items);
  return {
    ...rules,
    items,
    names,
    removed,
    quiet,
    withPasskeys: await orgsWithPasskeys(db, items),
    passkeys,
    users: await loadUsers(db, ids, locksUsers, quiet.size > 0),
  };
}

/**
 * The organizations whose ids a dry run may name: those of the import, or all if everybody who made a part of it or
 * runs it is an IAM_OWNER. An import creates users where an id is free; a dry run would tell strangers for nothing.
 */
export async function knownOrgs(
  db: Db,
  importId: string,
  { whole, items }: Candidates,
): Promise<ReadonlySet<string> | undefined> {
  const actors = [...new Set([...whole, ...items.flatMap((item) => item.changed_by ?? [])])];
  const rights = await activeRightsOf(db, actors);
  if (actors.every((actor) => rights.get(actor)?.isIamOwner)) return undefined;
  const { rows } = await db.query<Named<ImportOrgs, { id: 'org_id' }>>(
    'select org_id as id from import_orgs where import_id = $1',
    [importId],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The key of a user name in an organization. */
function nameOf(orgId: string, userNameKey: string): string {
  return `${orgId}\0${userNameKey}`;
}

/** The id of the item's target user: the id that was sent or, without one, the id of the user with the item's name. */
function targetId(item: CandidateItem, names: ReadonlyMap<string, NameHolder>): string | undefined {
  return item.omitted.includes('userId') ? names.get(nameOf(item.org_id, item.user_name_key))?.id : item.user_id;
}

async function loadRules(db: Db, importId: string): Promise<ImportRules> {
  const { rows } = await db.query<ImportRules>(
    `select on_existing as rule, not enterprise_mail_codes as "leavesOutEnterprise", ${ACTORS} from imports where id = $1`,
    [importId],
  );
  return oneRow(rows);
}

async function holdersOf(db: Db, items: CandidateItem[]): Promise<Map<string, NameHolder>> {
  const { rows } = await db.query<NameHolder & Pick<Users, 'org_id' | 'user_name_key'>>(
    'select id, kind, org_id, user_name_key from users where user_name_key = any($1::text[])',
    [items.map((item) => item.user_name_key)],
  );
  return new Map(rows.map((row) => [nameOf(row.org_id, row.user_name_key), row]));
}

async function holdersOfPasskeys(db: Db, items: CandidateItem[]): Promise<Map<string, PasskeyHolder>> {
  const ids = items.flatMap((item) => item.passkeys ?? []);
  if (ids.length === 0) return new Map();
  const { rows } = await db.query<PasskeyHolder & Pick<UserPasskeys, 'credential_id'>>(
    `select k.credential_id, u.id, u.org_id
     from (select * from user_passkeys where credential_id = any($1::bytea[]) offset 0) k
       cross join lateral (select id, org_id from users where id = k.user_id offset 0) u`,
    [ids.map((id) => Buffer.from(id, 'base64'))],
  );
  return new Map(rows.map(({ credential_id, ...holder }) => [credential_id.toString('base64'), holder]));
}

async function removedIds(db: Db, items: CandidateItem[]): Promise<Map<string, string>> {
  const { rows } = await db.query<{ id: string; org_id: string }>(
    `select id, org_id from (select id, org_of_removed_id(id) as org_id from unnest($1::text[]) as id) r
     where org_id is not null`,
    [items.map((item) => item.user_id)],
  );
  return new Map(rows.map(({ id, org_id }) => [id, org_id]));
}

async function orgsWithPasskeys(db: Db, items: CandidateItem[]): Promise<Candidates['withPasskeys']> {
  const asking = items.filter(({ sign_in }) => ((sign_in ?? USUAL) & FACT.passkeyWanted) !== 0);
  if (asking.length === 0) return new Set();
  const { rows } = await db.query<{ id: string }>(
    'select id from unnest($1::text[]) as o (id) where passkeys_of_import(id) is not null',
    [[...new Set(asking.map(({ org_id }) => org_id))]],
  );
  return new Set(rows.map(({ id }) => id));
}

async function quietOrgs(db: Db, items: CandidateItem[]): Promise<Candidates['quiet']> {
  const { rows } = await db.query<Omit<QuietOrg, 'links'> & { id: string; links: Record<string, number> }>(
    `select o.id, import_mails(o.id, false) as "withoutPassword",
       passkeys_of_import(o.id) as passkey, numbers_sign_in(o.id) as "byNumber",
       (select coalesce(jsonb_object_agg(name, rank), '{}') from ${signInNames('o.id')} s) as links
     from unnest($1::text[]) as o (id)
     where exists (select from login_policies where init_mail <> 'always') and not import_mails(o.id, true)`,
    [[...new Set(items.map(({ org_id }) => org_id))]],
  );
  return new Map(rows.map((row) => [row.id, { ...row, links: new Map(Object.entries(row.links)) }]));
}

async function loadUsers(
  db: Db,
  ids: string[],
  lock: boolean,
  asksNumbers: boolean,
): Promise<Map<string, CandidateUser>> {
  const { rows } = await db.query<Omit<CandidateUser, 'links' | 'factors'>>(
    `select id, org_id, kind, state, ${COMMON}, without_mail_codes, rehashed_from,
       $2 and phone_verified and exists (
         select from users v where phone_key(v.phone) = phone_key(users.phone) and v.org_id = users.org_id
           and v.phone_verified and v.id <> users.id offset 0) as is_number_held
     from users where id = any($1::text[]) order by id ${lock ? 'for update' : ''}`,
    [ids, asksNumbers],
  );
  const found = rows.map(({ id }) => id);
  const links = await namesOfLinks(db, found);
  const factors = await loadFactors(db, found);
  const whole = (user: (typeof rows)[number]): CandidateUser => {
    const { names = [], facts = 0 } = factors.get(user.id) ?? {};
    return { ...user, links: joinedNames(links.get(user.id) ?? [], names), factors: facts };
  };
  return new Map(rows.map((user) => [user.id, whole(user)]));
}

interface FactorRow {
  id: string;
  facts: number;
  passkeys: { rpId: string; passwordless: boolean }[] | null;
}

/** The users with second factors, passkeys or recovery codes: the facts of these, and the names of the passkeys. */
async function loadFactors(db: Db, ids: string[]): Promise<Map<string, { facts: number; names: string[] }>> {
  const { rows } = await db.query<FactorRow>(
    `select id, bit_or(facts) as facts, jsonb_agg(passkey) filter (where passkey is not null) as passkeys from (
       select user_id as id, ${FACT.totp} as facts, null::jsonb as passkey from user_totp
       where user_id = any($1::text[]) and confirmed_at is not null
       union all
       select user_id, case when otp_email then ${FACT.otpEmail} else 0 end | case when otp_sms then ${FACT.otpSms} else 0 end
         | case when recovery_left > 0 then ${FACT.recoveryCodes} else 0 end, null
       from user_factors where user_id = any($1::text[])
       union all
       select user_id, case when passwordless then ${FACT.passkey} else ${FACT.securityKey} end,
         jsonb_build_object('rpId', rp_id, 'passwordless', passwordless)
       from user_passkeys where user_id = any($1::text[])) f
     group by id`,
    [ids],
  );
  return new Map(rows.map(({ id, facts, passkeys }) => [id, { facts, names: namesOfPasskeys(passkeys ?? []) }]));
}

/** Reads the rights of the target users and of everybody who made or runs a part of the import, once for a batch. */
export async function loadAccess(db: Db, { items, users, whole }: Candidates): Promise<Access> {
  const members = await rightsOfAll(db, [...users.keys()]);
  const above = new Map<string, Set<string>>();
  const iamOwners = new Set([...members].filter(([, { isIamOwner }]) => isIamOwner).map(([userId]) => userId));
  const ranks = new Map([...members].map(([id, rights]) => [id, rankOf(rights, users.get(id)?.org_id ?? '')]));
  if (members.size === 0) return { above, iamOwners, ranks };
  const actors = [...new Set([...whole, ...items.flatMap((item) => item.changed_by ?? [])])];
  const rights = await activeRightsOf(db, actors, 'for share');
  for (const actor of actors) {
    const caller = { userId: actor, orgId: '', ...(rights.get(actor) ?? NO_RIGHTS) };
    const higher = [...members].filter(([userId, theirs]) => userId !== actor && !covers(caller, theirs));
    above.set(actor, new Set(higher.map(([userId]) => userId)));
  }
  return { above, iamOwners, ranks };
}
