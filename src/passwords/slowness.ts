/**
 * How much longer hashes take in this process than they take on the machine where work.ts was measured.
 * On crash: a new process measures again.
 */

/** Tasks that are remembered: a slow one counts until this many others have followed. */
const REMEMBERED = 32;
/** More would let a machine that stands still for a moment delay answers for long. */
const MOST = 3;

export interface Slowness {
  /** A task has run for `ms`, and `expectedMs` was estimated. */
  took(expectedMs: number, ms: number): void;
  /** The slowest of the latest tasks, as a multiple of its estimate: 1 to 3. */
  factor(): number;
}

export function openSlowness(): Slowness {
  const latest: number[] = [];
  return {
    took(expectedMs, ms) {
      latest.push(ms / expectedMs);
      if (latest.length > REMEMBERED) latest.shift();
    },
    factor: () => Math.min(MOST, Math.max(1, ...latest)),
  };
}
