/**
 * The outcome of a single import: waits until its item is settled or its deadline has passed.
 * On crash: the import continues without this process; only the answer is lost.
 */
import { type Details, details } from '../../db/events.ts';
import { ApiError, type ErrorBody, STATUS, type StatusName } from '../../errors.ts';
import type { ImportDeps } from '../deps.ts';
import { expireImport } from '../maintenance/deadline.ts';
import type { ImportSignal } from '../status/signal.ts';

interface Outcome {
  state: string;
  deadline_in_ms: number;
  error: ErrorBody | null;
  sequence: string | null;
  changed_at: Date | null;
  org_id: string | null;
  user_id: string;
}

/**
 * Waits until the import has written its one user.
 * @throws ApiError the item's error; 504 when the deadline passed first, in which case the user is never written
 */
export async function waitForUser(
  deps: ImportDeps & { signal: ImportSignal },
  importId: string,
): Promise<{ userId: string; details: Details }> {
  for (;;) {
    const woken = deps.signal.next(importId, deps.config.SINGLE_IMPORT_TIMEOUT_MS);
    const outcome = await readOutcome(deps, importId);
    if (outcome.state === 'running') {
      if (outcome.deadline_in_ms <= 0) await expireImport(deps.pool, importId);
      else await Promise.race([woken, after(outcome.deadline_in_ms)]);
      continue;
    }
    if (outcome.state === 'succeeded') {
      return { userId: outcome.user_id, details: detailsOf(outcome) };
    }
    if (outcome.error) throw fromBody(outcome.error);
    throw new ApiError(
      'DEADLINE_EXCEEDED',
      'IMPORT-TIMEOUT',
      'The user was not imported in time, and will not be imported later.',
    );
  }
}

function detailsOf(outcome: Outcome): Details {
  return details({
    sequence: outcome.sequence ?? '0',
    changedAt: outcome.changed_at ?? new Date(),
    resourceOwner: outcome.org_id ?? '',
  });
}

async function readOutcome(deps: ImportDeps, importId: string): Promise<Outcome> {
  const { rows } = await deps.pool.query<Outcome>({
    name: 'single-outcome',
    text: `select i.state, extract(epoch from i.deadline - clock_timestamp())::float8 * 1000 as deadline_in_ms, t.error,
        t.user_id, u.sequence, u.changed_at, u.org_id
      from imports i join import_items t on t.import_id = i.id and t.ordinal = 0
      left join users u on u.id = t.user_id and u.import_id = i.id
      where i.id = $1`,
    values: [importId],
  });
  return rows[0] as Outcome;
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

function fromBody(error: ErrorBody): ApiError {
  const name = (Object.keys(STATUS) as StatusName[]).find((s) => STATUS[s].code === error.code) ?? 'INTERNAL';
  return new ApiError(name, String(error.details[0]?.id ?? 'IMPORT-FAILED'), error.message);
}
