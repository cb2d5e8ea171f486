/** The statement of postgres-complete.sql with its parameters. */
import { readFileSync } from 'node:fs';

const TEXT = readFileSync(new URL('postgres-complete.sql', import.meta.url), 'utf8');

/** A completed job, and the token of its lock. */
export interface Ending {
  id: string;
  token: string;
  /** JSON. */
  result: unknown;
}

/** What is the same for all jobs of one statement. */
export interface BatchOptions {
  queue: string;
  lockMs: unknown;
  now: number;
  workerName: unknown;
}

/** The statement returns one row for each job, in their order, or no rows when it did nothing. */
export function completeBatch({ queue, lockMs, now, workerName }: BatchOptions, endings: Ending[]) {
  const ids = endings.map(({ id }) => id);
  const tokens = endings.map(({ token }) => token);
  const results = endings.map(({ result }) => result ?? 'null');
  return { name: 'complete-batch', text: TEXT, values: [queue, ids, tokens, results, now, lockMs, workerName] };
}
