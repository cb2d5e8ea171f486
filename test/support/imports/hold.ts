/** Holds an import in the middle of its batches, for tests that need it there however fast the machine is. */
import type { Pool } from '../../../src/platform/db/pool.ts';
import type { Answer } from '../answers.ts';
import { must, type Service, type ServiceCall } from '../processes/service.ts';
import { type Held, hold } from '../stores/locks.ts';
import { waitFor } from '../wait.ts';
import { usersOf } from './outcome.ts';

/**
 * Locks the import's row, as every action on it does: each batch waits for it before its commit.
 * @returns a function that releases the lock
 */
export async function holdImport(pool: Pool, importId: string): Promise<() => Promise<void>> {
  const { commit } = await hold(pool, 'select from imports where id = $1 for update', [importId]);
  return commit;
}

/** Blocks every batch of every import until it is released; imports are still accepted. */
export function holdWriting(pool: Pool): Promise<Held> {
  return hold(pool, 'lock table users in share mode');
}

/**
 * Locks items of an import: a batch with one of them waits, while its row is free for actions and other users are
 * written.
 * @param from the first ordinal
 * @param to the ordinal after the last; default: to the end
 */
export function holdItems(pool: Pool, importId: string, from: number, to = 2 ** 31 - 1): Promise<Held> {
  const sql = 'select from import_items where import_id = $1 and ordinal >= $2 and ordinal < $3 for update';
  return hold(pool, sql, [importId, from, to]);
}

export interface HeldImport {
  importId: string;
  /** The response to the request. */
  accepted: Answer['body'];
  /** One gate for each of the ordinals. */
  gates: Held[];
}

/**
 * Starts an import that reaches the first of the ordinals, and passes each only when its gate is released, so that it
 * cannot end earlier. Of the users before an ordinal, those are written whose batch contains none after it.
 */
export async function beginHeld(
  service: Service,
  body: unknown,
  ordinals: number[],
  options: ServiceCall & { query?: string } = {},
): Promise<HeldImport> {
  const writing = await holdWriting(service.pool);
  const accepted = (await must(service.importBody(body, options))).body;
  const { importId } = accepted;
  const gates: Held[] = [];
  for (const [i, from] of ordinals.entries()) {
    gates.push(await holdItems(service.pool, importId, from, ordinals[i + 1]));
  }
  await writing.commit();
  return { importId, accepted, gates };
}

/** Waits until the import has written more than `count` users. */
export function moreUsers(pool: Pool, importId: string, count = 0): Promise<boolean> {
  return waitFor(async () => (await usersOf(pool, importId)) > count, { what: `more than ${count} users` });
}

/**
 * Waits until `count` batches wait for a lock of the test or of the API, not only of each other or, for a moment, of
 * another worker; returns the ids of their server processes.
 */
export function waitingBatches(pool: Pool, count: number): Promise<number[]> {
  return waitFor(
    async () => {
      const { rows } = await pool.query<{ pid: number }>(
        `select w.pid from pg_stat_activity w
         where w.datname = current_database() and w.application_name = 'muster-writer' and w.wait_event_type = 'Lock'
           and exists (select from pg_stat_activity h
             where h.pid = any(pg_blocking_pids(w.pid)) and h.application_name not like 'muster-w%')`,
      );
      return rows.length >= count ? rows.map((r) => r.pid) : undefined;
    },
    { what: `${count} batches to wait` },
  );
}
