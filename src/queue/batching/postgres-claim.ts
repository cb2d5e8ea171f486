/** Fetches of jobs that share one statement: that of postgres-claim.sql. */
import { readFileSync } from 'node:fs';
import { alone, answer, type Call, type RunQuery } from './gather.ts';

/** What the calls contain of BullMQ's that are batched. */
export const CLAIM = 'move_to_active(';

const TEXT = readFileSync(new URL('postgres-claim.sql', import.meta.url), 'utf8');
/** Positions of the parameters: see move_to_active.sql in BullMQ. */
const [QUEUE, TOKEN, LOCK_MS, NOW, WORKER, LIMITER_MAX] = [0, 1, 2, 3, 4, 5] as const;

/** Settles every call. A single one is sent as it is. */
export async function claim(run: RunQuery, calls: Call[]): Promise<void> {
  if (calls.length > 1 && isAlike(calls) && (await claimTogether(run, calls))) return;
  await Promise.all(calls.map((call) => alone(run, call)));
}

/** Whether one statement may fetch for all: same queue, and no rate limiter. */
function isAlike(calls: Call[]): boolean {
  const [first] = calls as [Call];
  return calls.every(
    ({ values }) =>
      values[LIMITER_MAX] === null && [QUEUE, LOCK_MS, WORKER].every((place) => values[place] === first.values[place]),
  );
}

/** Returns whether the shared statement fetched for them. */
async function claimTogether(run: RunQuery, calls: Call[]): Promise<boolean> {
  const [{ values: first }] = calls as [Call];
  const tokens = calls.map(({ values }) => values[TOKEN]);
  const now = Math.max(...calls.map(({ values }) => Number(values[NOW])));
  const values = [first[QUEUE], tokens, now, first[LOCK_MS], first[WORKER]];
  // On any error everything is rolled back, and the separate calls report it.
  const { rows } = await run({ name: 'claim-batch', text: TEXT, values }).catch(() => ({ rows: [] }));
  return answer(calls, rows);
}
