/**
 * Updates existing users from the items of a batch: the second half of `onExisting=update`, for the items that
 * write-batch left pending.
 *
 * Guarantee: one transaction, whose last step is the guard that every batch has, so that nothing is written once the
 * import is not running. Only what differs is changed. A user of another organization, a machine user, and a user with
 * more rights than the import's caller are never changed.
 * On crash: before the commit, nothing has happened.
 */
import { type Pool, transaction } from '../../../db/pool.ts';
import { publishBatch } from '../../ended.ts';
import { applyDifferences } from './apply.ts';
import { newBelongings, putBelongings } from './belongings.ts';
import { loadCandidates } from './candidates.ts';
import { judge, type Verdict } from './judge.ts';
import { loadReach } from './reach.ts';
import { type Settled, settleItems } from './settle.ts';

export interface UpdateRest {
  /** Items that hold an encrypted password. */
  sealed: number[];
  /** The number of items whose user does not exist: they must be written as new users. */
  missing: number;
}

/** @throws pg.DatabaseError with code MU001 when the import is not running */
export async function updateBatch(
  pool: Pool,
  importId: string,
  ordinals: number[],
  { codeTtlMs }: { codeTtlMs: number },
): Promise<UpdateRest> {
  const { rest, batch } = await transaction(pool, async (db) => {
    const candidates = await loadCandidates(db, importId, ordinals, 'items and users');
    const sealed = candidates.items.filter((item) => item.is_sealed).map((item) => item.ordinal);
    const ready = candidates.items.filter((item) => !item.is_sealed);
    const reach = await loadReach(db, candidates.createdBy, [...candidates.users.keys()]);
    const verdicts = judge({ ...candidates, items: ready }, reach);
    const updates = verdicts.filter((v) => v.state === 'update');
    const pairs = pairsOf(updates);
    const belongings = await newBelongings(db, importId, pairs);
    for (const { item, difference } of updates) difference.changed.push(...(belongings.get(item.ordinal) ?? []));
    await putBelongings(db, importId, pairs, belongings);
    const differences = updates.map((v) => v.difference).filter((d) => d.changed.length > 0);
    await applyDifferences({ db, importId, editor: candidates.createdBy, codeTtlMs }, differences);
    const settled = settledOf(verdicts);
    const mails = differences.filter((d) => d.mail).length;
    const batch = await settleItems(db, importId, settled, { mails, erase: false });
    return { rest: { sealed, missing: ready.length - settled.length }, batch };
  });
  if (batch) publishBatch(batch);
  return rest;
}

export function pairsOf(updates: Extract<Verdict, { state: 'update' }>[]) {
  return updates.map(({ item, difference }) => ({ ordinal: item.ordinal, userId: difference.user.id }));
}

/** How items are settled; items of new users are not settled here. An update that changes nothing is a skip. */
export function settledOf(verdicts: Verdict[]): Settled[] {
  return verdicts.flatMap((verdict) => (verdict.state === 'create' ? [] : [settlementOf(verdict)]));
}

function settlementOf(verdict: Exclude<Verdict, { state: 'create' }>): Settled {
  const { ordinal } = verdict.item;
  if (verdict.state === 'failed') return { ordinal, state: 'failed', error: verdict.error };
  if (verdict.state === 'skipped') return { ordinal, state: 'skipped', userId: verdict.userId };
  const { user, changed } = verdict.difference;
  if (changed.length === 0) return { ordinal, state: 'skipped', userId: user.id };
  return { ordinal, state: 'succeeded', userId: user.id, changed };
}
