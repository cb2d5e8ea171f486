/**
 * Deactivates and reactivates organizations.
 *
 * While an organization is not active, its users cannot sign in, and their sessions, tokens and keys are refused;
 * roles on it count for nothing; its password sources are not asked, its imports are paused and its mails wait. All of
 * that is decided where it is used (`org_is_active`), so it holds at once, and a reactivation needs to restore nothing
 * but the imports, which somebody resumes.
 *
 * Guarantee: a change is one transaction with its event, and with the pause of the imports (a trigger of the
 * migrations). The instance keeps an active IAM_OWNER who can sign in.
 */
import { type AppendedEvent, appendEvent } from '../platform/db/events.ts';
import type { Db } from '../platform/db/pool.ts';
import { ApiError } from '../platform/errors.ts';
import { ensureOwnerRemains } from './members.ts';
import { findOrg, type Org, orgNotFound } from './organizations.ts';

/**
 * Stops everything that happens for the organization. Call it in a transaction.
 * @throws ApiError 404; 400 ORG-STATE, MEMBER-LAST-OWNER
 */
export async function deactivateOrg(db: Db, orgId: string, editor: string): Promise<AppendedEvent> {
  const { inactiveSince, removedAt } = await lockOrg(db, orgId);
  if (removedAt !== null) throw wrongState('is deleted');
  if (inactiveSince !== null) throw wrongState('is already deactivated');
  await ensureOwnerRemains(db, { orgId });
  return changeState(db, { orgId, change: 'deactivated', set: 'inactive_since = $3', editor });
}

/** Takes a deactivation back. Call it in a transaction. @throws ApiError 404; 400 ORG-STATE */
export async function reactivateOrg(db: Db, orgId: string, editor: string): Promise<AppendedEvent> {
  const { inactiveSince, removedAt } = await lockOrg(db, orgId);
  if (removedAt !== null) throw wrongState('is deleted; take the deletion back first');
  if (inactiveSince === null) throw wrongState('is not deactivated');
  return changeState(db, { orgId, change: 'reactivated', set: 'inactive_since = null', editor });
}

/** The organization, with its row locked. @throws ApiError 404 */
export async function lockOrg(db: Db, orgId: string): Promise<Org> {
  await db.query('select from organizations where id = $1 for no key update', [orgId]);
  const org = await findOrg(db, orgId);
  if (!org) throw orgNotFound();
  return org;
}

/** The error of a change that the state of the organization does not allow. @param problem what it is: `is deleted` */
export function wrongState(problem: string): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'ORG-STATE', `The organization ${problem}.`);
}

/** The organization, for a change of something that belongs to it. @throws ApiError 400 ORG-STATE for a deleted one */
export function undeleted(org: Org): Org {
  if (org.removedAt !== null) throw wrongState('is deleted; take the deletion back first');
  return org;
}

/** @param change.set SQL, with the time of the event as `$3` */
export async function changeState(
  db: Db,
  { orgId, change, set, editor }: { orgId: string; change: string; set: string; editor: string },
): Promise<AppendedEvent> {
  const event = await orgEvent(db, { orgId, change, editor });
  const text = `update organizations set sequence = $2, changed_at = $3, ${set} where id = $1`;
  await db.query(text, [orgId, event.sequence, event.createdAt]);
  return event;
}

/** Appends `organization.<change>`. */
export function orgEvent(
  db: Db,
  { orgId, change, editor }: { orgId: string; change: string; editor: string },
): Promise<AppendedEvent> {
  const of = { aggregateType: 'organization', aggregateId: orgId, resourceOwner: orgId } as const;
  return appendEvent(db, { ...of, type: `organization.${change}`, editor });
}
