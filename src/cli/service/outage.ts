/**
 * A service that went away: how long it is waited for, and when it is tried again.
 *
 * Guarantee: only what may pass is waited for; whatever else is wrong is told at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, Failure } from '../terminal/failure.ts';

export interface Patience {
  /** It is given up after this time without a word. */
  giveUpMs: number;
  /** Between two tries; doubled each time, up to `mostPauseMs`. */
  pauseMs: number;
  mostPauseMs: number;
  /** A connection on which nothing comes for this long is lost; the service says something every 15 seconds. */
  silenceMs: number;
}

export const PATIENCE: Patience = { giveUpMs: 120_000, pauseMs: 250, mostPauseMs: 5000, silenceMs: 45_000 };

export interface Outage {
  /** The service was heard. */
  over(): void;
  /**
   * Waits until it is time to try again.
   * @throws `fault` when waiting does not help; Failure when it was waited for long enough
   */
  wait(fault: unknown): Promise<void>;
}

export interface OutageOptions {
  patience: Patience;
  signal: AbortSignal;
  /** Called when the service goes away, once for each time. */
  onLost: (fault: Failure) => void;
  /** What to do when it does not come back. */
  advice: string;
}

export function openOutage({ patience, signal, onLost, advice }: OutageOptions): Outage {
  let since: number | undefined;
  let pause = patience.pauseMs;
  return {
    over() {
      since = undefined;
      pause = patience.pauseMs;
    },
    async wait(fault) {
      if (signal.aborted) throw signal.reason;
      if (!isPassing(fault)) throw fault;
      if (since === undefined) onLost(fault);
      since ??= Date.now();
      const left = since + patience.giveUpMs - Date.now();
      if (left <= 0)
        throw new Failure(`${fault.message} It was waited for in vain.`, { exitCode: EXIT.unreachable, advice });
      await sleep(Math.min(pause, left), undefined, { signal }).catch(() => {
        throw signal.reason;
      });
      pause = Math.min(pause * 2, patience.mostPauseMs);
    },
  };
}

function isPassing(fault: unknown): fault is Failure {
  return fault instanceof Failure && (fault.exitCode === EXIT.unreachable || fault.retryAfter !== undefined);
}
