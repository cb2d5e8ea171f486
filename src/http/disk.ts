/**
 * Whether PostgreSQL has disk space left. A server whose disk is full still answers queries, so only a write shows it.
 *
 * Guarantee: nothing is stored. The write is a temporary file of 280 kB, as of a large sort, in the tablespace of the
 * database, at most once in FRESH_MS: anybody may call `/readyz`.
 */
import { sqlState } from '../db/sqlstates.ts';

const FRESH_MS = 5000;
const DISK_FULL = '53100';
/** The rows need more than 64 kB, and `much` depends on `little`, so that the setting counts. */
const SPILL = `select count(*) from set_config('work_mem', '64kB', true) as little,
  generate_series(1, 20000 + 0 * length(little)) as much`;

export function isDiskFull(error: unknown): boolean {
  return sqlState(error) === DISK_FULL;
}

/** @returns a function that rejects with the server's error when the last write failed */
export function openDiskCheck(pool: { query(text: string): Promise<unknown> }): () => Promise<unknown> {
  let last: Promise<unknown> | undefined;
  let since = 0;
  return () => {
    if (!last || performance.now() - since > FRESH_MS) {
      since = performance.now();
      last = pool.query(SPILL);
    }
    return last;
  };
}
