/**
 * Pending items and their target users: the input of `judge.ts`.
 *
 * Guarantee: what `lock` names stays as it was read until the transaction ends. Rows are read only by index: the
 * planner's wrong estimates for freshly copied rows would make it scan whole tables for a few of them.
 */
import type { Db } from '../../../db/pool.ts';
import type { UserState } from '../../../users/store.ts';
import { itemsOfBatch } from '../../batch-items.ts';
import type { ExistingRule } from '../../options.ts';
import type { OmittedField } from '../../validate/omitted-fields.ts';

/** The columns that items and users have in common. */
export interface Columns {
  user_name: string;
  user_name_key: string;
  given_name: string;
  family_name: string;
  nick_name: string;
  display_name: string;
  preferred_language: string;
  gender: number;
  email: string | null;
  email_key: string | null;
  email_verified: boolean;
  phone: string | null;
  phone_verified: boolean;
  password_hash: string | null;
  password_change_required: boolean;
}

export interface CandidateItem extends Columns {
  ordinal: number;
  org_index: number;
  org_id: string;
  user_id: string;
  user_state: 'active' | 'inactive' | 'locked';
  unsaid: OmittedField[];
  /** Whether it contains an encrypted plain password. */
  is_sealed: boolean;
  has_totp: boolean;
}

export interface CandidateUser extends Columns {
  id: string;
  org_id: string;
  kind: 'human' | 'machine';
  state: UserState;
  /** SHA-256 of the imported hash that the current one replaced at a login. */
  rehashed_from: Buffer | null;
}

/** The options of the import that are relevant here. */
export interface ImportRules {
  rule: ExistingRule;
  createdBy: string;
}

export interface Candidates extends ImportRules {
  /** In the order of the body. */
  items: CandidateItem[];
  /** The target users by id: those with an item's id or, where no id was sent, with its name. */
  users: Map<string, CandidateUser>;
  /** The users that have the items' names, in any organization; for the keys see `nameOf`. */
  names: Map<string, NameHolder>;
  /** The items' ids that deleted users had, with the organization that may use each again. */
  removed: Map<string, string>;
}

export type NameHolder = Pick<CandidateUser, 'id' | 'kind'>;

/** What stays as it was read until the transaction ends. */
export type CandidateLock = 'items' | 'items and users';

/** For the rest of the transaction: every table is read by a list of keys, and the results are joined by hash. */
const BY_INDEX = 'set local enable_seqscan = off; set local enable_nestloop = off';

const COMMON = `user_name, user_name_key, given_name, family_name, nick_name, display_name, preferred_language, gender,
  email, email_key, email_verified, phone, phone_verified, password_hash, password_change_required`;

/** Loads the pending items, with and without an encrypted password. Call it in a transaction. */
export async function loadCandidates(
  db: Db,
  importId: string,
  ordinals: number[],
  lock: CandidateLock,
): Promise<Candidates> {
  await db.query(BY_INDEX);
  const rules = await loadRules(db, importId);
  const { rows: items } = await db.query<CandidateItem>(
    `select i.ordinal, i.org_index, o.org_id, i.user_id, i.user_state, ${COMMON.replace(/\w+/g, 'i.$&')},
       coalesce(i.extras -> 'unsaid', '[]') as unsaid, i.password_sealed is not null as is_sealed,
       i.totp_sealed is not null as has_totp
     from ${itemsOfBatch('$2')} join import_orgs o on o.import_id = $1 and o.org_index = i.org_index
     where i.state = 'pending'
     order by i.ordinal for update of i`,
    [importId, ordinals],
  );
  const names = await holdersOf(db, items);
  const ids = items.map((item) => targetId(item, names)).filter((id) => id !== undefined);
  const removed = await removedIds(db, items);
  return { ...rules, items, names, removed, users: await loadUsers(db, ids, lock === 'items and users') };
}

/** The key of a user name in an organization. */
export function nameOf(orgId: string, userNameKey: string): string {
  return `${orgId}\0${userNameKey}`;
}

/** The id of the item's target user: the id that was sent or, without one, that of the user with the item's name. */
export function targetId(item: CandidateItem, names: ReadonlyMap<string, NameHolder>): string | undefined {
  return item.unsaid.includes('userId') ? names.get(nameOf(item.org_id, item.user_name_key))?.id : item.user_id;
}

async function loadRules(db: Db, importId: string): Promise<ImportRules> {
  const { rows } = await db.query<ImportRules>(
    'select on_existing as rule, created_by as "createdBy" from imports where id = $1',
    [importId],
  );
  return rows[0] as ImportRules;
}

async function holdersOf(db: Db, items: CandidateItem[]): Promise<Map<string, NameHolder>> {
  const { rows } = await db.query<NameHolder & { org_id: string; user_name_key: string }>(
    'select id, kind, org_id, user_name_key from users where user_name_key = any($1::text[])',
    [items.map((item) => item.user_name_key)],
  );
  return new Map(rows.map((row) => [nameOf(row.org_id, row.user_name_key), row]));
}

async function removedIds(db: Db, items: CandidateItem[]): Promise<Map<string, string>> {
  const { rows } = await db.query<{ id: string; org_id: string }>(
    'select id, org_id from removed_user_ids where id = any($1::text[])',
    [items.map((item) => item.user_id)],
  );
  return new Map(rows.map(({ id, org_id }) => [id, org_id]));
}

async function loadUsers(db: Db, ids: string[], lock: boolean): Promise<Map<string, CandidateUser>> {
  const { rows } = await db.query<CandidateUser>(
    `select id, org_id, kind, state, ${COMMON}, rehashed_from from users
     where id = any($1::text[]) order by id ${lock ? 'for update' : ''}`,
    [ids],
  );
  return new Map(rows.map((user) => [user.id, user]));
}
