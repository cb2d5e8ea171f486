/**
 * What an undo would do now: how many users it would remove, how many it would keep, and why. Judges by the rule of the
 * undo itself (keptBecause), and changes nothing.
 *
 * Guarantee: bounded memory, and no transaction is open for longer than one stretch of users, so a large import takes
 * some seconds and holds up nothing.
 */
import { type Pool, transaction } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import type { ImportResult, UndoPreview } from '../answers.ts';
import { BY_KEY, IS_CHANGED_QUICKLY, keptBecause } from './undo-batch.ts';

const STRETCH = 20_000;
/** Stretches, each on a connection of its own. */
const AT_ONCE = 2;
/** Up to so many members are read once; of more, each user is looked up. */
const MOST_MEMBERS = 10_000;

/**
 * @param isWanted whether the caller still waits; without one, counting stops
 * @throws ApiError 400 IMPORT-DRY-RUN
 */
export async function previewUndo(pool: Pool, of: ImportResult, isWanted = () => true): Promise<UndoPreview> {
  if (of.dryRun) throw nothingToUndo();
  const counts = new Map<string, number>();
  const members = await membersOf(pool, of.importId);
  const starts = startsOf(of.counts.total);
  async function judgeNext(): Promise<void> {
    for (const from of starts) {
      if (!isWanted()) throw new ApiError('ABORTED', 'IMPORT-ABORTED', 'The caller no longer waits for the preview.');
      for (const { kept, n } of await judge(pool, { importId: of.importId, members, from, to: from + STRETCH }))
        counts.set(kept ?? '', (counts.get(kept ?? '') ?? 0) + n);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, judgeNext));
  const removed = counts.get('') ?? 0;
  counts.delete('');
  const reasons = [...counts].map(([kept, users]) => ({ reason: kept.toUpperCase(), users }));
  reasons.sort((a, b) => b.users - a.users);
  return { removed, kept: reasons.reduce((sum, { users }) => sum + users, 0), reasons };
}

/** Shared by all who take from it; if one of them fails, it ends for all. */
function* startsOf(total: number): Generator<number> {
  for (let from = 0; from < total; from += STRETCH) yield from;
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

/** The users of the import who hold a role; undefined if they are too many. */
function membersOf(pool: Pool, importId: string): Promise<string[] | undefined> {
  return transaction(pool, async (db) => {
    await db.query(BY_KEY);
    const { rows } = await db.query<{ id: string }>(
      `select user_id as id from (select user_id from org_members union select user_id from instance_members) m
       where (select u.import_id from users u where u.id = m.user_id) = $1 limit $2`,
      [importId, MOST_MEMBERS + 1],
    );
    return rows.length > MOST_MEMBERS ? undefined : rows.map(({ id }) => id);
  });
}

interface Stretch {
  importId: string;
  members: string[] | undefined;
  from: number;
  to: number;
}

/** An undo that is over, or has passed these users, has decided; its decision is in `kept`. */
function judge(pool: Pool, { importId, members, from, to }: Stretch): Promise<Judged[]> {
  const kept = keptBecause(IS_CHANGED_QUICKLY, members && 'u.id = any($4::text[])');
  return transaction(pool, async (db) => {
    await db.query(BY_KEY);
    const { rows } = await db.query<Judged>(
      `select coalesce(i.kept, ${kept}) as kept, count(*)::int as n
       from import_items i left join users u on u.id = i.user_id
       where i.import_id = $1 and i.ordinal >= $2 and i.ordinal < $3 and i.state = 'succeeded'
       group by 1`,
      [importId, from, to, ...(members ? [members] : [])],
    );
    return rows;
  });
}
