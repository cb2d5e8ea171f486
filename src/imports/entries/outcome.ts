/**
 * What becomes of items: tells `/metrics` and the trace what a batch has settled and that an import has ended, and
 * counts the failed users of an import by their errors, so that showing the causes does not read every failed user.
 *
 * Every statement that fails users adds a row for each error of its batch. Batches without failures add none, and no
 * two batches write the same row. A statement that changes failed users deletes the counts of their import.
 *
 * Guarantee: the counts describe failed users only, each at most once and with its present error. So they are
 * complete if their sum is the number of failed users; otherwise the reader counts the users themselves
 * (repair/causes.ts). Counts and outcomes are written in one transaction.
 */
import { allowLong } from '../../platform/db/client.ts';
import type { Db } from '../../platform/db/pool.ts';
import { END_STATES, type EndState, publish, type Ran } from '../../platform/telemetry.ts';

/** SQL columns of `imports`, for `Ran`. Without the time in which the import was paused or had ended. */
export const RAN =
  'id as "importId", kind, dry_run as "dryRun", extract(epoch from clock_timestamp() - accepted_at - stood)::float8 as seconds';

/** How many of the first users are kept for each error. */
export const FIRST = 5;

/** Different errors at a time, which bound memory: an error may name a hundred fields. */
export const MOST_ERRORS = 2500;

/** What a batch has settled, as the last step of its transaction returns it. */
export interface SettledBatch extends Ran {
  succeeded: number;
  skipped: number;
  failed: number;
  /** State of the import. */
  state: string;
}

/** Call it after the commit. A dry run counts as an import, but its users do not count: none of them is written. */
export function publishBatch(batch: SettledBatch): void {
  const { succeeded, skipped, failed } = batch;
  if (!batch.dryRun) publish('users', { succeeded, skipped, failed });
  publishEnd(batch.state, batch);
}

/** Call it after the commit. @param state of the import then; one in which it has not ended is ignored */
export function publishEnd(state: string | null | undefined, ran: Ran | undefined): void {
  if (!ran || !isEnd(state)) return;
  const { importId, kind, dryRun, seconds } = ran;
  publish('importEnded', { state, importId, kind, dryRun, seconds });
}

function isEnd(state: string | null | undefined): state is EndState {
  return (END_STATES as readonly (string | null | undefined)[]).includes(state);
}

/** Counts those who failed before the start: invalid entries and duplicates. Too many different errors are not kept. */
export async function countFirstFailures(db: Db, importId: string): Promise<void> {
  await allowLong(db);
  await db.query(
    `with alike as materialized (
       select count(*)::int as users, (array_agg(ordinal order by ordinal))[1:${FIRST}] as first
       from import_items where import_id = $1 and error is not null and state = 'failed'
       group by jsonb_hash_extended(error, 0) limit ${MOST_ERRORS + 1})
     insert into import_failures (import_id, error, users, first)
     select $1, one.error, users, first
     from alike cross join lateral (
       select error from import_items where import_id = $1 and ordinal = first[1] limit 1) one
     where (select count(*) from alike) <= ${MOST_ERRORS}`,
    [importId],
  );
}

/** Call it in the transaction that changes failed users, after the change. */
export async function forgetFailures(db: Db, importId: string): Promise<void> {
  await db.query('delete from import_failures where import_id = $1', [importId]);
}
