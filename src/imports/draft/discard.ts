/**
 * Discards a draft. Its files and entries are erased by the role `maintenance` (erase.ts); until it expires, it is shown
 * as discarded. Idempotent. On crash before the commit: nothing has happened.
 */
import type { Caller } from '../../access/caller.ts';
import { appendEvent } from '../../db/events.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { lockDraft } from './draft.ts';

/** @throws ApiError 404 */
export async function discardDraft(pool: Pool, caller: Caller, importId: string): Promise<void> {
  await transaction(pool, async (db) => {
    const draft = await lockDraft(db, importId);
    if (draft.state === 'discarded') return;
    const { sequence } = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: importId,
      resourceOwner: draft.resourceOwner,
      type: 'import.draft.discarded',
      editor: caller.userId,
    });
    await db.query(
      `update import_drafts set state = 'discarded', result = null, error = null, changed_at = now(), sequence = $2
       where import_id = $1`,
      [importId, sequence],
    );
  });
}
