/** Runs a round again and again: soon while there is work, seldom when there is none, never twice at once. */
import type { Logger } from 'pino';

export interface Loop {
  /** Resolves when the round under way is over; no further one starts. */
  stop(): Promise<void>;
}

/** @param round answers after how many milliseconds to come again; a fault is logged and the round comes again */
export function startLoop(name: string, logger: Logger, round: () => Promise<number>, afterFaultMs = 1000): Loop {
  let stopped = false;
  let wake = () => {};

  async function run(): Promise<void> {
    while (!stopped) {
      const ms = await round().catch((err) => {
        logger.warn({ err, loop: name }, 'a round failed');
        return afterFaultMs;
      });
      if (stopped) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  const running = run();
  return {
    stop() {
      stopped = true;
      wake();
      return running;
    },
  };
}
