/** Tells `/metrics` and the trace that an import has ended, and what became of its users: call these after the commit. */
import { END_STATES, type EndState, publish, type Ran } from '../observations.ts';

/** SQL columns of `imports`, for `Ran`. Without the time in which the import was paused or had ended. */
export const RAN =
  'id as "importId", kind, dry_run as "dryRun", extract(epoch from clock_timestamp() - accepted_at - stood)::float8 as seconds';

/** The same for the import `$1`, in a statement that has columns of other tables; joins as `ran`. */
export const JOIN_RAN = `left join (select ${RAN} from imports where id = $1) ran on true`;

/** @param state of the import after the commit; one in which it has not ended is ignored */
export function publishEnd(state: string | null | undefined, ran: Ran | undefined): void {
  if (!ran || !isEnd(state)) return;
  const { importId, kind, dryRun, seconds } = ran;
  publish('importEnded', { state, importId, kind, dryRun, seconds });
}

function isEnd(state: string | null | undefined): state is EndState {
  return (END_STATES as readonly (string | null | undefined)[]).includes(state);
}

/** What a batch has settled, as the last step of its transaction returns it. */
export interface SettledBatch extends Ran {
  succeeded: number;
  skipped: number;
  failed: number;
  /** State of the import. */
  state: string;
}

/** A dry run counts as an import, but its users do not count: none of them is written. */
export function publishBatch(batch: SettledBatch): void {
  const { succeeded, skipped, failed } = batch;
  if (!batch.dryRun) publish('users', { succeeded, skipped, failed });
  publishEnd(batch.state, batch);
}
