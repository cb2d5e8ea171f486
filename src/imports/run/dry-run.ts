/**
 * A batch of a dry run: judged like a batch of a real import, but only states and counts are written.
 *
 * Guarantee: one transaction with the guard that every batch has. The payload is erased when the item is judged, and no
 * password is hashed for it.
 */
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { publishBatch } from '../entries/outcome.ts';
import {
  type Candidates,
  decideOutcomes,
  knownOrgs,
  loadAccess,
  loadCandidates,
  type Verdict,
} from './existing-users.ts';
import { newBelongings, pairsOf, type Settled, settledOf, settleItems } from './update-users.ts';

/**
 * @returns items whose password must be compared with the password of an existing user before they can be judged
 * @throws pg.DatabaseError with code MU001 when the import is not running
 */
export async function dryBatch(pool: Pool, importId: string, ordinals: number[]): Promise<number[]> {
  const { open, batch } = await transaction(pool, async (db) => {
    const loaded = await loadCandidates(db, importId, ordinals, 'items');
    const candidates = { ...loaded, known: await knownOrgs(db, importId, loaded) };
    const access = await loadAccess(db, candidates);
    const verdicts = decideOutcomes(candidates, access);
    const open = verdicts.filter((v) => v.state === 'update' && v.item.is_sealed).map((v) => v.item.ordinal);
    const judged = verdicts.filter((v) => !open.includes(v.item.ordinal));
    await addBelongings(db, importId, judged);
    const mails = judged.map(mailOf).filter((mail) => mail !== undefined);
    await countMails(db, importId, mails);
    await countUnchecked(db, importId, candidates, judged);
    const created = judged
      .filter((v) => v.state === 'create')
      .map(({ item }): Settled => {
        return { ordinal: item.ordinal, state: 'succeeded' };
      });
    const outcomes = [...created, ...settledOf(judged)];
    const batch = await settleItems(db, importId, outcomes, { mails: mails.length, erase: true });
    return { open, batch };
  });
  if (batch) publishBatch(batch);
  return open;
}

async function addBelongings(db: Db, importId: string, judged: Verdict[]): Promise<void> {
  const updates = judged.filter((v) => v.state === 'update');
  const found = await newBelongings(db, importId, pairsOf(updates));
  for (const { item, difference } of updates) difference.changed.push(...(found.get(item.ordinal) ?? []));
}

/** The mail that would be sent; for new users, by the rule of write-batch.ts. */
function mailOf(verdict: Verdict): 'verify_email' | 'initialise' | undefined {
  if (verdict.state === 'update') return verdict.difference.mail;
  const { item, state } = verdict;
  if (state !== 'create' || item.user_state !== 'active' || item.email === null) return undefined;
  if (item.password_hash === null && !item.is_sealed) return 'initialise';
  return item.email_verified ? undefined : 'verify_email';
}

async function countMails(db: Db, importId: string, mails: ('verify_email' | 'initialise')[]): Promise<void> {
  if (mails.length === 0) return;
  await db.query(
    `update import_dry_runs set verifications = verifications + $2, initialisations = initialisations + $3
     where import_id = $1`,
    [importId, mails.filter((m) => m === 'verify_email').length, mails.filter((m) => m === 'initialise').length],
  );
}

/** Counts the new users with an id of their own, whether or not another organization has it. */
async function countUnchecked(db: Db, importId: string, { known }: Candidates, judged: Verdict[]): Promise<void> {
  const unchecked = judged.filter(({ item, state }) => state === 'create' && !item.omitted.includes('userId'));
  if (!known || unchecked.length === 0) return;
  await db.query('update import_dry_runs set unchecked_ids = unchecked_ids + $2 where import_id = $1', [
    importId,
    unchecked.length,
  ]);
}
