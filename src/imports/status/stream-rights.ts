/**
 * Ends the event streams of callers who lose the right to follow their import. The rights of all callers with a stream
 * in this process are read together, at most once in CHECK_MS, so the load does not depend on the number of streams.
 *
 * Guarantee: a stream ends at most CHECK_MS and one reading after its caller lost their role or their active account.
 * While PostgreSQL is away, streams report nothing, and stay open.
 */
import { type Caller, may } from '../../contract/permissions.ts';
import { activeRightsOf, NO_RIGHTS } from '../../directory/members.ts';
import type { Pool } from '../../platform/db/pool.ts';

const CHECK_MS = 1000;

export interface StreamRights {
  /** Calls `lost` once, when the caller may no longer follow an import of these organizations. Returns how to stop. */
  watch(caller: Caller, orgIds: readonly string[], lost: () => void): () => void;
}

interface Stream {
  caller: Caller;
  orgIds: readonly string[];
  lost(): void;
}

/** Opens the watch of this process, which reads nothing while there is no stream. */
export function openStreamRights(pool: Pool): StreamRights {
  const streams = new Set<Stream>();
  let isScheduled = false;

  async function check(): Promise<void> {
    const checked = [...streams];
    const rights = await activeRightsOf(pool, [...new Set(checked.map(({ caller }) => caller.userId))]);
    for (const stream of checked) {
      const { caller, orgIds, lost } = stream;
      const now = { ...caller, ...(rights.get(caller.userId) ?? NO_RIGHTS) };
      if (orgIds.every((orgId) => may(now, 'streamImportEvents', orgId)) || !streams.delete(stream)) continue;
      lost();
    }
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setTimeout(async () => {
      await check().catch(() => {}); // the next check reads them again
      isScheduled = false;
      if (streams.size > 0) schedule();
    }, CHECK_MS).unref();
  }

  return {
    watch(caller, orgIds, lost) {
      const stream = { caller, orgIds, lost };
      streams.add(stream);
      schedule();
      return () => streams.delete(stream);
    },
  };
}
