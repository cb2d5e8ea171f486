/**
 * Stores password-age policies: one of the instance, and one of each organization that has set its own.
 * Guarantee: every change is in one transaction with its event, when the caller passes a transaction's connection.
 */

import { INSTANCE } from '../access/members.ts';
import { type AppendedEvent, appendEvent } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import type { AgePolicy } from './age.ts';

/** The organization that owns a policy; null: the instance. */
export type PolicyOwner = string | null;

export interface StoredAgePolicy extends AgePolicy {
  orgId: PolicyOwner;
  sequence: string;
  createdAt: Date;
  changedAt: Date;
}

const COLUMNS = `org_id as "orgId", max_age_days as "maxAgeDays", expire_warn_days as "expireWarnDays",
  sequence, created_at as "createdAt", changed_at as "changedAt"`;

/** SQL that joins the policy `p` of the user's organization to `users u`, else that of the instance. */
export const JOIN_AGE_POLICY = `cross join lateral (
    select q.max_age_days, q.expire_warn_days from password_age_policies q
    where q.org_id = u.org_id or q.org_id is null order by q.org_id nulls last limit 1) p`;

/** The effective policy of the organization: its own, else the instance's. For the instance, the instance's. */
export async function agePolicyOf(db: Db, owner: PolicyOwner): Promise<StoredAgePolicy> {
  const { rows } = await db.query<StoredAgePolicy>(
    `select ${COLUMNS} from password_age_policies where org_id = $1 or org_id is null
     order by org_id nulls last limit 1`,
    [owner],
  );
  return rows[0] as StoredAgePolicy;
}

/**
 * Adds the organization's own policy.
 * @throws ApiError 409 when it has one
 */
export async function addAgePolicy(db: Db, orgId: string, policy: AgePolicy, editor: string): Promise<AppendedEvent> {
  const event = await policyEvent(db, orgId, 'added', editor, policy);
  const { rowCount } = await db.query(
    `insert into password_age_policies (org_id, max_age_days, expire_warn_days, sequence, created_at, changed_at)
     values ($1, $2, $3, $4, $5, $5) on conflict do nothing`,
    [orgId, policy.maxAgeDays, policy.expireWarnDays, event.sequence, event.createdAt],
  );
  if (rowCount) return event;
  throw new ApiError('ALREADY_EXISTS', 'POLICY-AGE-EXISTS', 'The organization already has a password-age policy.');
}

/**
 * Changes the organization's own policy, or the instance's.
 * @throws ApiError 404 when the organization has none of its own
 */
export async function updateAgePolicy(
  db: Db,
  owner: PolicyOwner,
  policy: AgePolicy,
  editor: string,
): Promise<StoredAgePolicy> {
  // Locked first, so that the last change has the last event.
  const { rowCount } = await db.query(
    'select 1 from password_age_policies where org_id is not distinct from $1 for update',
    [owner],
  );
  if (!rowCount) throw noOwnPolicy();
  const event = await policyEvent(db, owner, 'changed', editor, policy);
  const { rows } = await db.query<StoredAgePolicy>(
    `update password_age_policies set max_age_days = $2, expire_warn_days = $3, sequence = $4, changed_at = $5
     where org_id is not distinct from $1 returning ${COLUMNS}`,
    [owner, policy.maxAgeDays, policy.expireWarnDays, event.sequence, event.createdAt],
  );
  return rows[0] as StoredAgePolicy;
}

function noOwnPolicy(): ApiError {
  return new ApiError('NOT_FOUND', 'POLICY-AGE-NOT-FOUND', 'The organization has no password-age policy of its own.');
}

/** Removes the organization's own policy, if any: from now on the instance's policy applies. */
export async function resetAgePolicy(db: Db, orgId: string, editor: string): Promise<AppendedEvent> {
  await db.query('delete from password_age_policies where org_id = $1', [orgId]);
  return policyEvent(db, orgId, 'reset', editor);
}

/** The `resourceOwner` of a policy. */
export function policyOwnerId(owner: PolicyOwner): string {
  return owner ?? INSTANCE;
}

function policyEvent(
  db: Db,
  owner: PolicyOwner,
  change: 'added' | 'changed' | 'reset',
  editor: string,
  policy?: AgePolicy,
): Promise<AppendedEvent> {
  const aggregateType = owner === null ? 'instance' : 'organization';
  const id = policyOwnerId(owner);
  const type = `${aggregateType}.policy.password.age.${change}`;
  const payload = policy && { maxAgeDays: policy.maxAgeDays, expireWarnDays: policy.expireWarnDays };
  return appendEvent(db, {
    aggregateType,
    aggregateId: id,
    resourceOwner: id,
    type,
    editor,
    ...(payload ? { payload } : {}),
  });
}
