/** Runs a round again and again: soon while there is work, seldom when there is none, never twice at once. */
import type { Logger } from 'pino';
import type { Condition } from '../src/condition.ts';

export interface Loop {
  /** Resolves when the round under way is over; no further one starts. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  /** Milliseconds from a fault to the next round; 1000 unless told. */
  afterFaultMs?: number;
  /** Is told whether the rounds of this name succeed. */
  condition?: Condition | undefined;
}

/** @param round answers after how many milliseconds to come again; a fault is logged and the round comes again */
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
