/**
 * Notices that the process has stood still, stopped by a signal or with its machine: others may meanwhile have taken over
 * its work.
 */

/** Shorter than any claim or lock; a busy event loop hardly reaches it. */
const FROZEN_MS = 5000;
const TICK_MS = 1000;

export interface FreezeWatch {
  /** Whether the process has stood still for `frozenMs` or more since then. @param then by `performance.now()` */
  since(then: number): boolean;
  stop(): void;
}

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
