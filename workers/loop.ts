/** Runs a round repeatedly: often while there is work, rarely when there is none, and never two at once. */
import type { Logger } from 'pino';
import type { Condition } from '../src/condition.ts';

export interface Loop {
  /** Starts no further round; resolves when the current one is over. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  /** Milliseconds from a failed round to the next one; 1000 by default. */
  afterFaultMs?: number;
  /** Gets whether the rounds of this loop succeed. */
  condition?: Condition | undefined;
}

/**
 * @param round returns the milliseconds until the next round; if it throws, the error is logged and the loop continues
 */
export function startLoop(
  name: string,
  logger: Logger,
  round: () => Promise<number>,
  { afterFaultMs = 1000, condition }: LoopOptions = {},
): Loop {
  let stopped = false;
  let wake = () => {};

  async function once(): Promise<number> {
    try {
      const ms = await round();
      condition?.working(name);
      return ms;
    } catch (err) {
      condition?.failing(name);
      logger.warn({ err, loop: name }, 'a round failed');
      return afterFaultMs;
    }
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const ms = await once();
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
