/**
 * Stores policies: of each kind one of the instance, and one of each organization that has set its own; and checks new
 * passwords against the policy of their user's organization. Every way to set a password calls the check, except
 * imports and hashes that were made elsewhere.
 *
 * Guarantee: every change is in one transaction with its event, when the caller passes a transaction's connection.
 */
import { type BrokenRule, brokenRules, inWords } from '../contract/password-rules.ts';
import { COMPLEXITY, type Given, type LengthPolicy, type PolicyKind } from '../contract/policies.ts';
import { type AppendedEvent, appendEvent } from '../platform/db/events.ts';
import type { Db } from '../platform/db/pool.ts';
import { columnList, type Named, type Names, oneRow } from '../platform/db/rows.ts';
import type { LoginPolicies } from '../platform/db/tables.ts';
import { ApiError } from '../platform/errors.ts';
import { INSTANCE, rightsOf } from './members.ts';

/** The organization that owns a policy; null: the instance. */
export type PolicyOwner = string | null;

const POLICY = {
  orgId: 'org_id',
  sequence: 'sequence',
  createdAt: 'created_at',
  changedAt: 'changed_at',
} as const satisfies Names<LoginPolicies>;

/** What the tables of all policies have. */
export type PolicyRow = Named<LoginPolicies, typeof POLICY>;

/** SQL: whether `users u` is an IAM_OWNER, for whom no organization may relax what the instance demands. */
export const IS_OWNER = `exists (select from instance_members m where m.user_id = u.id)`;

/**
 * SQL that joins the age policy `p` of the user's organization to `users u`, else that of the instance; to IAM_OWNERs
 * the stricter of both.
 */
export const JOIN_AGE_POLICY = `cross join lateral (
    select q.max_age_days, q.expire_warn_days from password_age_policies q
    where q.org_id = u.org_id or q.org_id is null 
    order by case when ${IS_OWNER} then coalesce(nullif(q.max_age_days, 0), 2147483647) end, q.org_id nulls last
    limit 1) p`;

/**
 * SQL: whether the policy of the organization of `users u` requires a second factor, or for IAM_OWNERs that of the
 * instance.
 */
export const FORCES_MFA = `(
    (select q.force_mfa from login_policies q
      where q.org_id = u.org_id or q.org_id is null order by q.org_id nulls last limit 1)
    or (${IS_OWNER} and (select q.force_mfa from login_policies q where q.org_id is null)))`;

/**
 * SQL: who of the organization of `users u` may sign in with a code by mail, as `mail_code_use`; for IAM_OWNERs the
 * stricter of the policies of organization and instance.
 */
export const MAIL_CODE_USE = `least(
    (select q.mail_code from login_policies q
      where q.org_id = u.org_id or q.org_id is null order by q.org_id nulls last limit 1),
    case when ${IS_OWNER} then (select q.mail_code from login_policies q where q.org_id is null) end)`;

/** SQL: as `MAIL_CODE_USE`, of codes by text message. */
export const SMS_CODE_USE = MAIL_CODE_USE.replaceAll('q.mail_code', 'q.sms_code');

/** Whether the user may delete their account: their organization lets them, and for an IAM_OWNER the instance too. */
export async function selfDeletionAllowed(db: Db, userId: string): Promise<boolean> {
  const of = (where: string) =>
    `(select q.delete_account from login_policies q where ${where} order by q.org_id nulls last limit 1)`;
  const { rows } = await db.query<{ allowed: boolean }>(
    `select ${of('q.org_id = u.org_id or q.org_id is null')}
       and (not ${IS_OWNER} or ${of('q.org_id is null')}) as allowed
     from users u where u.id = $1 and u.kind = 'human'`,
    [userId],
  );
  return rows[0]?.allowed ?? false;
}

/** SQL: whether the organization of `users u` lets its users sign in with a passkey; for IAM_OWNERs the instance too. */
export const PASSKEYS_ALLOWED = `(coalesce((select q.passkeys from login_policies q
      where q.org_id = u.org_id or q.org_id is null order by q.org_id nulls last limit 1), true)
    and not (${IS_OWNER} and not (select q.passkeys from login_policies q where q.org_id is null)))`;

/** The effective policy of the organization: its own, else the instance's. For the instance, the instance's. */
export async function policyOf<P>(db: Db, kind: PolicyKind<P>, owner: PolicyOwner): Promise<P & PolicyRow> {
  const { rows } = await db.query<P & PolicyRow>(
    `select ${selected(kind)} from ${kind.table} where org_id = $1 or org_id is null
     order by org_id nulls last limit 1`,
    [owner],
  );
  return oneRow(rows);
}

/**
 * Adds the organization's own policy.
 * @param given fields that it omits are those of the instance
 * @throws ApiError 409 when it has one
 */
export async function addPolicy<P extends object>(
  db: Db,
  kind: PolicyKind<P>,
  orgId: string,
  given: Given<P>,
  editor: string,
): Promise<AppendedEvent> {
  const policy = completed(kind, await policyOf(db, kind, null), given);
  const event = await policyEvent(db, kind, { owner: orgId, change: 'added', editor, policy });
  const { columns, values } = assigned(kind, policy);
  const { rowCount } = await db.query(
    `insert into ${kind.table} (org_id, sequence, created_at, changed_at, ${columns.join(', ')})
     values ($1, $2, $3, $3, ${columns.map((_, i) => `$${i + 4}`).join(', ')}) on conflict do nothing`,
    [orgId, event.sequence, event.createdAt, ...values],
  );
  if (rowCount) return event;
  const message = `The organization already has a ${kind.title}.`;
  throw new ApiError('ALREADY_EXISTS', kind.errors.exists, message);
}

/**
 * Changes the organization's own policy, or the instance's.
 * @param given fields that it omits keep their values
 * @throws ApiError 404 when the organization has none of its own, unless this kind is then added
 */
export async function updatePolicy<P extends object>(
  db: Db,
  kind: PolicyKind<P>,
  owner: PolicyOwner,
  given: Given<P>,
  editor: string,
): Promise<P & PolicyRow> {
  // Locked first, so that the last change has the last event.
  const lock = () => db.query(`select 1 from ${kind.table} where org_id is not distinct from $1 for update`, [owner]);
  let isOwn = (await lock()).rowCount === 1;
  if (!isOwn && (kind.errors.notFound || owner === null)) throw noOwnPolicy(kind);
  if (!isOwn) {
    // So that of two requests at the same time one adds the policy, and the other one changes it.
    await db.query('select from organizations where id = $1 for no key update', [owner]);
    isOwn = (await lock()).rowCount === 1;
  }
  if (!isOwn && owner !== null) {
    await addPolicy(db, kind, owner, given, editor);
    return policyOf(db, kind, owner);
  }
  const policy = completed(kind, await policyOf(db, kind, owner), given);
  const event = await policyEvent(db, kind, { owner, change: 'changed', editor, policy });
  const { columns, values } = assigned(kind, policy);
  const { rows } = await db.query<P & PolicyRow>(
    `update ${kind.table} set sequence = $2, changed_at = $3, ${columns.map((c, i) => `${c} = $${i + 4}`).join(', ')}
     where org_id is not distinct from $1 returning ${selected(kind)}`,
    [owner, event.sequence, event.createdAt, ...values],
  );
  return oneRow(rows);
}

/** Removes the organization's own policy, if any: from now on the instance's policy applies. */
export async function resetPolicy<P>(
  db: Db,
  kind: PolicyKind<P>,
  orgId: string,
  editor: string,
): Promise<AppendedEvent> {
  await db.query(`delete from ${kind.table} where org_id = $1`, [orgId]);
  return policyEvent(db, kind, { owner: orgId, change: 'reset', editor });
}

function completed<P extends object>(kind: PolicyKind<P>, before: P, given: Given<P>): P {
  const fields = fieldsOf(kind).map(([field]) => [field, given[field] ?? before[field]] as const);
  return Object.fromEntries(fields) as unknown as P;
}

/** The `resourceOwner` of a policy. */
export function policyOwnerId(owner: PolicyOwner): string {
  return owner ?? INSTANCE;
}

/** The user who gets the password. */
export interface PasswordUser {
  /** Absent: a user who does not exist yet. */
  id?: string;
  /** null: an organization that does not exist yet. */
  orgId: PolicyOwner;
  userName: string;
  /** Primary domain of the organization. */
  domain: string;
  email: string | null;
  /** Further names and addresses that the password must not be. */
  names?: readonly string[];
}

/** The id of the error for a password that breaks a rule. */
export const PASSWORD_POLICY = 'PASSWORD-POLICY';

/** The rules that the password breaks, for IAM_OWNERs also those of the instance. */
export async function newPasswordProblems(db: Db, user: PasswordUser, password: string): Promise<BrokenRule[]> {
  const { id, orgId, userName, domain, email, names: more = [] } = user;
  const mailbox = email === null ? [] : [email, email.slice(0, email.lastIndexOf('@'))];
  const names = [userName, `${userName}@${domain}`, domain, ...mailbox, ...more];
  const broken = brokenRules(password, await policyOf(db, COMPLEXITY, orgId), names);
  if (id === undefined || !(await rightsOf(db, id)).isIamOwner) return broken;
  const all = [...broken, ...brokenRules(password, await policyOf(db, COMPLEXITY, null), names)];
  return [...new Map(all.map((one) => [inWords(one), one])).values()];
}

/**
 * Refuses a password that breaks a rule.
 * @param field path of the password in the request
 * @throws ApiError 400 PASSWORD-POLICY with a violation for every rule that the password breaks
 */
export async function requireGoodPassword(db: Db, user: PasswordUser, password: string, field: string): Promise<void> {
  const problems = await newPasswordProblems(db, user, password);
  if (problems.length === 0) return;
  throw new RefusedPassword(problems, field);
}

/** The error for a password that breaks rules; the pages say each rule in the language of the person. */
export class RefusedPassword extends ApiError<typeof PASSWORD_POLICY> {
  readonly broken: readonly BrokenRule[];

  constructor(broken: readonly BrokenRule[], field: string) {
    const problems = broken.map(inWords);
    const violations = problems.map((description) => ({ field, description }));
    super('INVALID_ARGUMENT', PASSWORD_POLICY, `The password ${problems.join(', and it ')}.`, { violations });
    this.broken = broken;
  }
}

/** The rules for new passwords in the organization; null: those of the instance. */
export async function passwordRulesOf(db: Db, orgId: PolicyOwner): Promise<LengthPolicy> {
  return policyOf(db, COMPLEXITY, orgId);
}

function noOwnPolicy<P>({ errors, title }: PolicyKind<P>): Error {
  const message = `The organization has no ${title} of its own.`;
  return errors.notFound ? new ApiError('NOT_FOUND', errors.notFound, message) : new Error(message);
}

function fieldsOf<P>({ columns }: PolicyKind<P>): [keyof P & string, string][] {
  return Object.entries(columns) as [keyof P & string, string][];
}

function selected<P>(kind: PolicyKind<P>): string {
  const own = fieldsOf(kind).map(([field, column]) => `${column} as "${field}"`);
  return `${own.join(', ')}, ${columnList(POLICY)}`;
}

function assigned<P>(kind: PolicyKind<P>, policy: P): { columns: string[]; values: unknown[] } {
  const fields = fieldsOf(kind);
  return { columns: fields.map(([, column]) => column), values: fields.map(([field]) => policy[field]) };
}

interface PolicyChange<P> {
  owner: PolicyOwner;
  change: 'added' | 'changed' | 'reset';
  editor: string;
  policy?: P;
}

function policyEvent<P>(
  db: Db,
  kind: PolicyKind<P>,
  { owner, change, editor, policy }: PolicyChange<P>,
): Promise<AppendedEvent> {
  const aggregateType = owner === null ? 'instance' : 'organization';
  const id = policyOwnerId(owner);
  const type = `${aggregateType}.policy.${kind.path.replaceAll('/', '.')}.${change}`;
  return appendEvent(db, {
    aggregateType,
    aggregateId: id,
    resourceOwner: id,
    type,
    editor,
    ...(policy ? { payload: { ...policy } } : {}),
  });
}
