/**
 * The line of tasks before threads. It runs a number of them at once, refuses a task that would wait too long, and
 * drops one that waits when its caller has gone.
 *
 * On crash: waiting tasks are lost with the process, as are their callers' connections.
 */
import { ApiError } from '../errors.ts';

export interface LaneOptions {
  atOnce: number;
  /** The longest time that the tasks in front may take, in milliseconds of one thread. */
  longestWaitMs: number;
}

export interface LaneTask {
  /** How long it takes, about. */
  ms: number;
  /** Aborted when the caller has gone. A task that runs is not interrupted: a new thread costs more than most tasks. */
  signal?: AbortSignal | undefined;
}

export interface Lane {
  /** @throws ApiError 503 PASSWORDS-BUSY; the signal's reason */
  run<T>(work: () => Promise<T>, task: LaneTask): Promise<T>;
}

interface Waiting {
  ms: number;
  start(): void;
}

const RETRY_AFTER_S = 5;

export function openLane({ atOnce, longestWaitMs }: LaneOptions): Lane {
  const waiting = new Set<Waiting>();
  let running = 0;
  let waitingMs = 0;

  function leave(one: Waiting): void {
    if (waiting.delete(one)) waitingMs -= one.ms;
  }

  function next(): void {
    const [first] = waiting;
    if (!first) return;
    leave(first);
    running++;
    first.start();
  }

  /** Returns when the task has one of the places. */
  function place({ ms, signal }: LaneTask): Promise<void> | undefined {
    if (signal?.aborted) throw signal.reason;
    if (running < atOnce) {
      running++;
      return undefined;
    }
    if (waitingMs / atOnce >= longestWaitMs) throw busy();
    return new Promise((resolve, reject) => {
      const drop = () => {
        leave(one);
        reject(signal?.reason);
      };
      const one: Waiting = {
        ms,
        start() {
          signal?.removeEventListener('abort', drop);
          resolve();
        },
      };
      signal?.addEventListener('abort', drop, { once: true });
      waiting.add(one);
      waitingMs += ms;
    });
  }

  return {
    async run(work, task) {
      await place(task);
      try {
        return await work();
      } finally {
        running--;
        next();
      }
    },
  };
}

function busy(): ApiError {
  const message = 'Too many passwords are being checked. Try again later.';
  return new ApiError('UNAVAILABLE', 'PASSWORDS-BUSY', message, { retryAfterS: RETRY_AFTER_S });
}
