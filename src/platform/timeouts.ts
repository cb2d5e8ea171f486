/** A time limit for operations that have none of their own, and a watch for a process that stands still. */

/** Shorter than any claim or lock; a busy event loop hardly reaches it. */
const FROZEN_MS = 5000;
const TICK_MS = 1000;

/** The operation did not finish in time; it may still finish later. Has the code of a connection timeout. */
export class TimedOut extends Error {
  readonly code = 'ETIMEDOUT';
  constructor(what: string, ms: number) {
    super(`${what} did not answer within ${ms} ms`);
    this.name = 'TimedOut';
  }
}

/**
 * The value of `work` if it is ready within `ms` milliseconds. A later result is ignored.
 * @param what subject of the error message, such as "the queue"
 * @throws TimedOut, or what `work` throws
 */
export async function withTimeout<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimedOut(what, ms)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/**
 * Notices that the process has stood still, stopped by a signal or with its machine: others may meanwhile have taken
 * over its work.
 */
export interface FreezeWatch {
  /** Whether the process has stood still for `frozenMs` or more since then. @param then by `performance.now()` */
  since(then: number): boolean;
  stop(): void;
}

/** @param frozenMs how long the process stands still to count as frozen, in milliseconds */
export function watchFreezes(frozenMs = FROZEN_MS): FreezeWatch {
  let last = clocks();
  let frozenAt = Number.NEGATIVE_INFINITY;
  function look(): void {
    const now = clocks();
    if (now.running - last.running >= frozenMs || now.wall - last.wall >= frozenMs) frozenAt = now.running;
    last = now;
  }
  const timer = setInterval(look, Math.min(TICK_MS, frozenMs / 2)).unref();
  return {
    since(then) {
      look();
      return frozenAt > then;
    },
    stop: () => clearInterval(timer),
  };
}

/** The first one stands still while the machine is suspended, the second one jumps when somebody sets it. */
function clocks(): { running: number; wall: number } {
  return { running: performance.now(), wall: Date.now() };
}
