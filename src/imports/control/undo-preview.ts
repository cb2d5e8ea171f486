/**
 * What an undo would do now: how many users it would remove, how many it would keep, and why. Judges by the rule of the
 * undo itself (KEPT_BECAUSE), and changes nothing.
 *
 * Guarantee: bounded memory, and no transaction is open for longer than one stretch of users, so a large import takes
 * some seconds and holds up nothing.
 */
import { type Pool, transaction } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import type { ImportResult, UndoPreview } from '../answers.ts';
import { KEPT_BECAUSE } from './undo-batch.ts';

const STRETCH = 20_000;

/**
 * @param isWanted whether the caller still waits; without one, counting stops
 * @throws ApiError 400 IMPORT-DRY-RUN
 */
export async function previewUndo(pool: Pool, of: ImportResult, isWanted = () => true): Promise<UndoPreview> {
  if (of.dryRun) throw nothingToUndo();
  const counts = new Map<string, number>();
  for (let from = 0; from < of.counts.total; from += STRETCH) {
    if (!isWanted()) throw new ApiError('ABORTED', 'IMPORT-ABORTED', 'The caller no longer waits for the preview.');
    for (const { kept, n } of await judge(pool, of.importId, from, from + STRETCH))
      counts.set(kept ?? '', (counts.get(kept ?? '') ?? 0) + n);
  }
  const removed = counts.get('') ?? 0;
  counts.delete('');
  const reasons = [...counts].map(([kept, users]) => ({ reason: kept.toUpperCase(), users }));
  reasons.sort((a, b) => b.users - a.users);
  return { removed, kept: reasons.reduce((sum, { users }) => sum + users, 0), reasons };
}

export function nothingToUndo(): ApiError {
  return new ApiError(
    'FAILED_PRECONDITION',
    'IMPORT-DRY-RUN',
    'A dry run writes no users, so there is nothing to undo.',
  );
}

interface Judged {
  /** Null: the user would be removed. */
  kept: string | null;
  n: number;
}

/** An undo that is over, or has passed these users, has decided; its decision is in `kept`. */
function judge(pool: Pool, importId: string, from: number, to: number): Promise<Judged[]> {
  return transaction(pool, async (db) => {
    // As in a batch of an undo: the planner may have no statistics for the rows yet.
    await db.query('set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off');
    const { rows } = await db.query<Judged>(
      `select coalesce(i.kept, ${KEPT_BECAUSE}) as kept, count(*)::int as n
       from import_items i left join users u on u.id = i.user_id
       where i.import_id = $1 and i.ordinal >= $2 and i.ordinal < $3 and i.state = 'succeeded'
       group by 1`,
      [importId, from, to],
    );
    return rows;
  });
}
