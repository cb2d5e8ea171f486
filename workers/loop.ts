/** Runs a round repeatedly: often while there is work, rarely when there is none, and never two at once. */
import type { Logger } from 'pino';
import type { Condition } from '../src/condition.ts';

export interface Loop {
  /** Starts no further round; resolves when the current one is over. */
  stop(): Promise<void>;
}

/**
 * What a loop waits for between two rounds: milliseconds, or something that calls `wake`. It returns how to end the wait,
 * which is called once, after `wake` too.
 */
export type Pause = number | ((wake: () => void) => () => void);

export interface LoopOptions {
  /** Milliseconds from a failed round to the next one; 1000 by default. */
  afterFaultMs?: number;
  /** Gets whether the rounds of this loop succeed. */
  condition?: Condition | undefined;
}

/**
 * @param round returns the pause until the next round; if it throws, the error is logged and the loop continues
 */
export function startLoop(
  name: string,
  logger: Logger,
  round: () => Promise<Pause>,
  { afterFaultMs = 1000, condition }: LoopOptions = {},
): Loop {
  let stopped = false;
  let wake = () => {};
  let end = () => {};

  async function once(): Promise<Pause> {
    try {
      const pause = await round();
      condition?.working(name);
      return pause;
    } catch (err) {
      condition?.failing(name);
      logger.warn({ err, loop: name }, 'a round failed');
      return afterFaultMs;
    }
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const pause = await once();
      if (stopped) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        end = begin(pause, resolve);
      });
      end();
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

/** A pause that ends when one of these ends. */
export function either(...pauses: Pause[]): Pause {
  return (wake) => {
    const ends = pauses.map((pause) => begin(pause, wake));
    return () => {
      for (const end of ends) end();
    };
  };
}

function begin(pause: Pause, wake: () => void): () => void {
  return typeof pause === 'number' ? wakeAfter(pause, wake) : pause(wake);
}

function wakeAfter(ms: number, wake: () => void): () => void {
  const timer = setTimeout(wake, ms);
  return () => clearTimeout(timer);
}
