/**
 * Keeps the body of an import as a draft instead of starting it: entries that a client has converted itself are sent
 * once, checked, and started.
 *
 * Guarantee: the draft exists only when every user of the body is durable.
 * On crash before the commit: as for every body, nothing of it is kept.
 */
import type { Caller } from '../../access/caller.ts';
import { appendEvent } from '../../db/events.ts';
import type { Db } from '../../db/pool.ts';
import { touchReceiving } from '../intake/accept.ts';
import type { KeepDraft, Received } from '../intake/body-intake.ts';
import { insertDraft, takeDraft } from './create.ts';
import type { ConversionResult } from './draft.ts';

/** @param ttlMs DRAFT_TTL. The intake calls the result in the transaction that ends the body. */
export function keepAsDraft(caller: Caller, ttlMs: number): KeepDraft {
  return async (db: Db, received: Received) => {
    const { importId, total } = received;
    await takeDraft(db, caller);
    await touchReceiving(db, importId); // locks the row against a concurrent sweep
    const { sequence } = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: importId,
      resourceOwner: caller.orgId,
      type: 'import.draft.created',
      editor: caller.userId,
      payload: { total },
    });
    const result = resultOf(received);
    await insertDraft(db, {
      importId,
      sequence,
      ttlMs,
      orgs: [...new Set(result.orgs.map(({ orgId }) => orgId))],
      result,
    });
  };
}

function resultOf({ tallies, importId: _, ...received }: Received): ConversionResult {
  return {
    ...{ source: '', title: '', broken: 0, orgs: tallies },
    ...received,
    failed: tallies.reduce((sum, { failed }) => sum + failed, 0),
  };
}
