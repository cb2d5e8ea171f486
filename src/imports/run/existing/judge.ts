/**
 * Decides the outcome of each item of a batch by the import's rule for existing users. Writes nothing, so that a dry
 * run reports what the import itself would do.
 */
import type { ErrorBody } from '../../../errors.ts';
import { ERRORS } from '../conflict-errors.ts';
import { type CandidateItem, type Candidates, type CandidateUser, nameOf, targetId } from './candidates.ts';
import { type Difference, difference } from './difference.ts';
import type { Reach } from './reach.ts';

export type Verdict = { item: CandidateItem } & (
  | { state: 'create' }
  | { state: 'update'; difference: Difference }
  | { state: 'skipped'; userId: string }
  | { state: 'failed'; error: ErrorBody }
);

/** @param reach the rights of the users, for an import that updates them */
export function judge(candidates: Candidates, reach: Reach): Verdict[] {
  const updated = new Set<string>();
  return candidates.items.map((item): Verdict => {
    const id = targetId(item, candidates.names);
    const user = id === undefined ? undefined : candidates.users.get(id);
    if (candidates.rule !== 'update' || !user) return { item, ...withoutUpdate(candidates, item, user) };
    const error = updated.has(user.id) ? ERRORS.twice : refusal(item, user);
    if (error) return { item, state: 'failed', error };
    updated.add(user.id);
    const found = difference(item, user);
    const problem = changeProblem(candidates, item, found, reach);
    return problem ? { item, state: 'failed', error: problem } : { item, state: 'update', difference: found };
  });
}

type Decision = { state: 'create' } | { state: 'skipped'; userId: string } | { state: 'failed'; error: ErrorBody };

/** Ids are unique in the instance, even those of deleted users; names in the organization. Only a human user of the organization can be skipped. */
function withoutUpdate(
  { rule, names, removed }: Candidates,
  item: CandidateItem,
  user: CandidateUser | undefined,
): Decision {
  const sentId = !item.unsaid.includes('userId');
  if (sentId && user) {
    const error = refusal(item, user);
    return rule === 'skip' && !error ? { state: 'skipped', userId: user.id } : failed(error ?? ERRORS.idTaken);
  }
  const holder = names.get(nameOf(item.org_id, item.user_name_key));
  if (rule === 'skip' && holder?.kind === 'human') {
    return { state: 'skipped', userId: sentId ? item.user_id : holder.id };
  }
  if ((removed.get(item.user_id) ?? item.org_id) !== item.org_id) return failed(ERRORS.idTaken);
  return holder ? failed(ERRORS.nameTaken) : { state: 'create' };
}

function failed(error: ErrorBody): Decision {
  return { state: 'failed', error };
}

/** Why this user is not a valid target for the item. */
function refusal(item: CandidateItem, user: CandidateUser): ErrorBody | undefined {
  if (user.org_id === item.org_id && user.kind === 'human') return undefined;
  return item.unsaid.includes('userId') ? ERRORS.nameTaken : ERRORS.idTaken;
}

function changeProblem(
  { names }: Candidates,
  item: CandidateItem,
  { user, next }: Difference,
  { mayDoMore, iamOwners }: Reach,
): ErrorBody | undefined {
  if (mayDoMore.has(user.id)) return ERRORS.mayDoMore;
  const isStopped = next.state !== user.state && (next.state === 'inactive' || next.state === 'locked');
  if (isStopped && iamOwners.has(user.id)) return ERRORS.stopsOwner;
  const holder = names.get(nameOf(item.org_id, next.user_name_key));
  return holder && holder.id !== user.id ? ERRORS.nameTaken : undefined;
}
