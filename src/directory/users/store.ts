/**
 * Reads, adds and deletes stored users, finds them by their login names, and says whom a caller may change.
 *
 * A user's login names are `userName@primaryDomain`, and the bare `userName` (contract section 3). Names compare by
 * `nameKey`.
 *
 * Several organizations may have a user with the same bare name. It belongs to the user who had it first; the others
 * use it where the organization is known, and their full name elsewhere. A full name wins among the users whom the
 * caller may see: the instance's owner gives an organization its domain, and so all names that end with it. Nobody is
 * told whether a name exists elsewhere.
 *
 * To sign in, a verified address counts as well, where no other user of the organization has verified the same one. It
 * belongs to the user who had the text first, as a bare name or as a verified address; names that are older than this
 * rule come before addresses. So no organization can take a name or an address that signs somebody in elsewhere. The same
 * is true of a verified phone number, where the login policy of the organization lets users sign in with codes by text
 * message (`smsCode`).
 *
 * "First" is the time at which the transaction began that created the user or gave them this name, then the id of the
 * organization. A user who is deleted or renamed gives the name up; the next one in this order has it from then on.
 *
 * Guarantee: every change is in one transaction with its event, when the caller passes a transaction's connection.
 */
import { domainToASCII } from 'node:url';
import type { OperationId } from '../../contract/operations.ts';
import { type Caller, covers, may, permissionDenied, requireReach } from '../../contract/permissions.ts';
import type { LoginScope } from '../../contract/sessions.ts';
import type { UserState } from '../../contract/users.ts';
import { dropUnsentMails, sendFarewell } from '../../messages/mail/outbox.ts';
import { KNOWS_PASSWORD } from '../../passwords/forms.ts';
import { type AppendedEvent, appendEvent } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../../platform/db/rows.ts';
import type { Organizations, Users } from '../../platform/db/tables.ts';
import { ApiError } from '../../platform/errors.ts';
import { nameKey } from '../../platform/fields.ts';
import { typedNumber } from '../../platform/phone.ts';
import { ensureOwnerRemains, rightsOf } from '../members.ts';
import { requireRoomForUser } from '../organization-limits.ts';
import { ORG_IS_ACTIVE } from '../organizations.ts';
import { selfDeletionAllowed } from '../policies.ts';

const USER = {
  id: 'id',
  orgId: 'org_id',
  kind: 'kind',
  state: 'state',
  userName: 'user_name',
  givenName: 'given_name',
  familyName: 'family_name',
  nickName: 'nick_name',
  displayName: 'display_name',
  preferredLanguage: 'preferred_language',
  /** Index into GENDERS. */
  gender: 'gender',
  email: 'email',
  emailVerified: 'email_verified',
  phone: 'phone',
  phoneVerified: 'phone_verified',
  passwordChangeRequired: 'password_change_required',
  /** No code by mail, and no mail that they or a stranger asks for, gives them a way in. */
  withoutMailCodes: 'without_mail_codes',
  machineName: 'machine_name',
  machineDescription: 'machine_description',
  /** Index into ACCESS_TOKEN_TYPES. */
  accessTokenType: 'access_token_type',
  sequence: 'sequence',
  createdAt: 'created_at',
  changedAt: 'changed_at',
} as const satisfies Names<Users>;

export interface User extends Named<Users, typeof USER> {
  /** One that they know, as far as an import said. */
  hasPassword: boolean;
  /** Whether a machine user has a client secret. */
  hasSecret: boolean;
  /** Primary domain of the user's organization. */
  domain: Organizations['primary_domain'];
  orgIsActive: boolean;
}

/** Columns of `users u join organizations o` in the shape of `User`. */
export const USER_COLUMNS = `${columnList(USER, 'u')}, ${KNOWS_PASSWORD} as "hasPassword",
  u.secret_hash is not null as "hasSecret", o.primary_domain as domain, ${ORG_IS_ACTIVE} as "orgIsActive"`;

/** What the user may do now: nobody of an organization that is not active may do anything. */
export function stateNow({ state, orgIsActive }: Pick<User, 'state' | 'orgIsActive'>): UserState {
  return orgIsActive ? state : 'inactive';
}

export type UserLock = 'for update' | 'for key share';

/** One user; with `lock`, locked until the transaction ends. */
export async function findUser(db: Db, id: string, lock?: UserLock): Promise<User | undefined> {
  const { rows } = await db.query<User>(
    `select ${USER_COLUMNS} from users u join organizations o on o.id = u.org_id where u.id = $1
     ${lock ? `${lock} of u` : ''}`,
    [id],
  );
  return rows[0];
}

export interface NewUser {
  id: string;
  orgId: string;
  userName: string;
  human?: {
    givenName: string;
    familyName: string;
    nickName?: string;
    displayName: string;
    preferredLanguage?: string;
    gender?: number;
    email: string;
    emailVerified: boolean;
    phone?: string | undefined;
    phoneVerified?: boolean | undefined;
    /** Encoded, never plain. */
    passwordHash?: string | undefined;
    passwordChangeRequired?: boolean | undefined;
  };
  machine?: { name: string; description?: string; accessTokenType?: number };
}

/**
 * Adds an active user, either a human or a machine.
 * @throws ApiError 400 ORG-LIMIT-USERS; 409 when the id or, in the organization, the name is taken; the transaction is then aborted
 */
export async function insertUser(db: Db, user: NewUser, editor: string): Promise<AppendedEvent> {
  const kind = user.human ? 'human' : 'machine';
  const event = await userEvent(db, user, `user.${kind}.added`, editor);
  const { human: h, machine: m } = user;
  const values = [
    user.id,
    user.orgId,
    kind,
    'active',
    user.userName,
    nameKey(user.userName),
    event.sequence,
    h?.givenName,
    h?.familyName,
    h?.nickName,
    h?.displayName,
    h?.preferredLanguage,
    h?.gender ?? 0,
    h?.email,
    h && nameKey(h.email),
    h?.emailVerified ?? false,
    h?.phone,
    h?.phoneVerified ?? false,
    h?.passwordHash,
    h?.passwordHash ? event.createdAt : undefined,
    h?.passwordChangeRequired ?? false,
    m?.name,
    m?.description,
    m?.accessTokenType ?? 0,
  ];
  await requireRoomForUser(db, user.orgId);
  const { rowCount: isNamed } = await db.query(NAME_ONLY, [user.id, user.orgId, nameKey(user.userName)]);
  if (isNamed) throw nameTaken();
  try {
    await db.query(INSERT, values);
  } catch (error) {
    throw nameClash(error);
  }
  return event;
}

const INSERT = `insert into users (
    id, org_id, kind, state, user_name, user_name_key, sequence,
    given_name, family_name, nick_name, display_name, preferred_language, gender,
    email, email_key, email_verified, phone, phone_verified,
    password_hash, password_changed_at, password_change_required,
    machine_name, machine_description, access_token_type)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)`;

/**
 * A name that the organization has comes before an id of another organization: otherwise the caller, who knows the name,
 * would learn about the id without creating a user.
 */
const NAME_ONLY = `select from users where org_id = $2 and user_name_key = $3
  and not exists (select from users where id = $1 and org_id = $2)`;

function nameTaken(): ApiError {
  return new ApiError('ALREADY_EXISTS', 'USER-NAME-TAKEN', 'The user name is taken in the organization.');
}

/** Turns a unique violation of users into the 409; returns any other error unchanged. */
export function nameClash(error: unknown): unknown {
  const { code, constraint } = error as { code?: string; constraint?: string };
  if (code !== '23505') return error;
  if (constraint === 'users_pkey') return new ApiError('ALREADY_EXISTS', 'USER-ID-TAKEN', 'The user id is taken.');
  if (constraint !== 'users_name') return error;
  return nameTaken();
}

/**
 * Deletes a user, whose row is locked, with their tokens, sessions, codes and unsent mails. Events remain. To avoid
 * deadlocks, it locks imports before the table of members, from which each deletion of a user deletes.
 * @throws ApiError 400 MEMBER-LAST-OWNER
 */
export async function deleteUser(db: Db, user: { id: string; orgId: string }, editor: string): Promise<AppendedEvent> {
  await dropUnsentMails(db, user.id);
  await ensureOwnerRemains(db, { userId: user.id });
  await db.query('delete from users where id = $1', [user.id]);
  return userEvent(db, user, 'user.removed', editor);
}

/**
 * Deletes the account of a user who asks for it, whose row is locked, and tells their address if it is verified.
 * @throws ApiError 400 USER-DELETE-SELF where the organization does not allow it, MEMBER-LAST-OWNER
 */
export async function deleteOwn(db: Db, user: User): Promise<AppendedEvent> {
  if (!(await selfDeletionAllowed(db, user.id))) {
    const message = 'The organization does not let users delete their account.';
    throw new ApiError('FAILED_PRECONDITION', 'USER-DELETE-SELF', message);
  }
  const { email, emailVerified, orgId } = user;
  if (email !== null && emailVerified) await sendFarewell(db, { orgId, email });
  return deleteUser(db, user, user.id);
}

/** How a caller reaches a user. `manager`: by a role on the user's organization, which may also be the caller's own. */
export type Relation = 'self' | 'manager';

export interface Reached {
  user: User;
  relation: Relation;
}

/**
 * The user, for a caller who may do `operation` to them. Users with more rights than the caller are refused: otherwise
 * the caller could take over their rights by changing them, or get rid of them.
 * @throws ApiError 403, or 404 to an IAM_OWNER
 */
export async function accessForChange(
  db: Db,
  caller: Caller,
  operation: OperationId,
  userId: string,
  lock?: UserLock,
): Promise<Reached> {
  const user = requireReach(caller, operation, await findUser(db, userId, lock), userNotFound);
  if (user.id !== caller.userId && !covers(caller, await rightsOf(db, user.id))) throw permissionDenied();
  return { user, relation: may(caller, operation, user.orgId) ? 'manager' : 'self' };
}

function userEvent(db: Db, user: { id: string; orgId: string }, type: string, editor: string): Promise<AppendedEvent> {
  return appendEvent(db, { aggregateType: 'user', aggregateId: user.id, resourceOwner: user.orgId, type, editor });
}

/** The error that an IAM_OWNER gets for a user who does not exist. */
export function userNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'USER-NOT-FOUND', 'The user does not exist.');
}

/** SQL over `users u join organizations o`: the full login name. */
export const LOGIN_NAME = `u.user_name || '@' || o.primary_domain`;

/** The names of a user, the preferred one first. */
export function loginNames(user: { userName: string; domain: string }): [string, string] {
  return [`${user.userName}@${user.domain}`, user.userName];
}

type Parameter = (value: unknown) => string;

/**
 * SQL over `users u` that is true for the one user with this login name, if there is one.
 * @param parameter adds a value as a parameter and returns its placeholder
 */
export function hasLoginName(loginName: string, parameter: Parameter, { orgIds, orgId }: LoginScope = {}): string {
  const key = nameKey(loginName);
  const bare = parameter(key);
  const within = orgIds ? `and h.org_id = any(${parameter(orgIds)})` : '';
  const named = orgId === undefined ? [] : [bareName(bare, `${within} and h.org_id = ${parameter(orgId)}`)];
  const candidates = [...named, ...fullName(key, parameter, { orgIds }), bareName(bare, within)];
  return `u.id = coalesce(${candidates.join(', ')})`;
}

/**
 * SQL over `users u` that is true for the one user who signs in with this text: with a login name, with a verified
 * address or with a verified phone number, as the organization of the user allows.
 */
export function signsInWith(text: string, parameter: Parameter, { orgIds, orgId }: LoginScope = {}): string {
  const key = nameKey(text);
  const bare = parameter(key);
  const within = orgIds ? `and h.org_id = any(${parameter(orgIds)})` : '';
  const ofName = `${within} and ${allows('h', 'userName')}`;
  const full = fullName(key, parameter, { orgIds, allowed: `and ${allows('f', 'loginName')}` });
  const phone = typedNumber(text);
  const typed = phone === undefined ? { key: bare, contact: ADDRESS } : { key: parameter(phone), contact: PHONE };
  const isContact = key.includes('@') || phone !== undefined;
  const org = orgId === undefined ? '' : parameter(orgId);
  const named = orgId === undefined ? [] : [bareName(bare, `${ofName} and h.org_id = ${org}`)];
  if (orgId !== undefined && isContact) named.push(contactOfOrg(bare, typed, within, org));
  const first = isContact ? firstHolder(bare, ofName, typed, within) : bareName(bare, ofName);
  return `u.id = coalesce(${[...named, ...full, first].join(', ')})`;
}

/** Users with the same address who are compared, the oldest ones. */
const MOST_WITH_ADDRESS = 1000;

/**
 * The id of the human whose address this is, verified or not, if no other user of their organization has it; of several
 * organizations, the one who has been there longest. Only for what is then mailed to the address.
 */
export async function unverifiedHolder(
  db: Db,
  text: string,
  { orgIds, orgId }: LoginScope,
): Promise<string | undefined> {
  const key = nameKey(text);
  if (!key.includes('@')) return undefined;
  const { rows } = await db.query<{ id: string }>(
    `select min(id) as id from (
       select h.id, h.org_id, h.created_at from users h
       where h.email_key = $1 and h.kind = 'human' and ($2::text is null or h.org_id = $2)
         and ($3::text[] is null or h.org_id = any($3)) and ${allows('h', 'email')}
       order by h.created_at, h.id limit ${MOST_WITH_ADDRESS}) h
     group by org_id having count(*) = 1 order by min(created_at), org_id limit 1`,
    [key, orgId ?? null, orgIds ?? null],
  );
  return rows[0]?.id;
}

/**
 * Organizations in which the same address may be verified; with more, it signs in where the organization is named. One
 * organization counts once, however many of its users have the address.
 */
const MOST_SHARED = 100;

/** What signs in beside names, once it is verified: how users `h` have it. */
interface Contact {
  has(key: string): string;
  /** Since when it is verified. */
  verifiedAt: string;
  allowed: string;
  /** Since when it signs in at all. */
  ruleSince: string;
}

/** Addresses sign in since the first migration with `addressed_at`, which was 65 before version 1.0.0. */
const ADDRESS: Contact = {
  has: (key) => `h.email_key = ${key} and h.email_verified`,
  verifiedAt: 'h.addressed_at',
  allowed: allows('h', 'email'),
  ruleSince: `(select min(applied_at) from migrations where id >= 65)`,
};
/** Numbers sign in since migration 186, which has `phoned_at`. */
const PHONE: Contact = {
  has: (key) => `phone_key(h.phone) = ${key} and h.phone_verified`,
  verifiedAt: 'h.phoned_at',
  allowed: signsInByPhone('h'),
  ruleSince: `(select min(applied_at) from migrations where id >= 186)`,
};

/** A text that somebody typed, as the parameter that holds it, and what it may be beside a name. */
interface Typed {
  key: string;
  contact: Contact;
}

/** SQL: the organization of the user lets users sign in with their phone number. */
function signsInByPhone(user: string): string {
  return `(select q.sms_code <> 'off' from login_policies q where q.org_id = ${user}.org_id or q.org_id is null
    order by q.org_id nulls last limit 1)`;
}

/** No organization keeps an IAM_OWNER from signing in: their full name always counts. */
function allows(user: string, name: 'userName' | 'loginName' | 'email'): string {
  const allowed = `exists (select from organizations a where a.id = ${user}.org_id and '${name}' = any(a.sign_in_names))`;
  return name === 'loginName'
    ? `(${allowed} or exists (select from instance_members w where w.user_id = ${user}.id))`
    : allowed;
}

/** Two users of an organization with this verified address or number: two are as ambiguous as many. */
function twoOfOrg({ key, contact }: Typed, org: string): string {
  return `(select h.id, h.org_id, ${contact.verifiedAt} as verified_at, h.created_at from users h
    where ${contact.has(key)} and h.org_id = ${org} and ${contact.allowed} limit 2)`;
}

/**
 * The id of the only user of the organization with this verified address or number, unless the text is an older name
 * elsewhere.
 * @param bare the text as a name
 */
function contactOfOrg(bare: string, typed: Typed, within: string, org: string): string {
  return `(select min(h.id) from ${twoOfOrg(typed, org)} h where not exists (select from users n
        where n.user_name_key = ${bare} and coalesce(n.named_at, n.created_at) < ${typed.contact.ruleSince}) ${within}
    having count(*) = 1)`;
}

/**
 * The id of the user who had the text first, as a bare name or as a verified address or number that is unique there.
 * Goes from organization to organization by the index, so one with many users of the address costs as much as one with
 * two.
 */
function firstHolder(bare: string, ofName: string, typed: Typed, within: string): string {
  const { key, contact } = typed;
  const nextOrg = (after: string) =>
    `select h.org_id from users h where ${contact.has(key)} ${within} ${after} order by h.org_id limit 1`;
  return `(with recursive holding (org_id, n) as (
      (select org_id, 1 from (${nextOrg('')}) first)
      union all
      select next.org_id, p.n + 1 from holding p, lateral (${nextOrg('and h.org_id > p.org_id')}) next
      where p.n <= ${MOST_SHARED})
    select c.id from (
      select h.id, h.org_id, coalesce(h.named_at, h.created_at) as since from users h
      where h.user_name_key = ${bare} ${ofName}
      union all
      select min(h.id), h.org_id, min(coalesce(h.verified_at, greatest(h.created_at, ${contact.ruleSince})))
      from holding p, lateral ${twoOfOrg(typed, 'p.org_id')} h
      where (select count(*) from holding) <= ${MOST_SHARED}
      group by h.org_id having count(*) = 1) c
    order by c.since, c.org_id limit 1)`;
}

/** The id of the user who had the bare name first. */
function bareName(key: string, within: string): string {
  return `(select h.id from users h where h.user_name_key = ${key} ${within}
    order by coalesce(h.named_at, h.created_at), h.org_id limit 1)`;
}

/** The id of the user with this full name. A domain contains no `@`, so the last one separates the parts. */
function fullName(
  key: string,
  parameter: Parameter,
  { orgIds, allowed = '' }: Pick<LoginScope, 'orgIds'> & { allowed?: string },
): string[] {
  const at = key.lastIndexOf('@');
  if (at === -1) return [];
  const within = orgIds ? `and f.org_id = any(${parameter(orgIds)})` : '';
  const domain = key.slice(at + 1);
  // An organization may have been given its domain in punycode; of two, the older one keeps its users' names.
  const domains = parameter([...new Set([domain, domainToASCII(domain) || domain])]);
  return [
    `(select f.id from users f where f.user_name_key = ${parameter(key.slice(0, at))} ${within} ${allowed}
      and f.org_id = (select q.id from organizations q where q.primary_domain = any(${domains}) order by q.created_at, q.id limit 1))`,
  ];
}
