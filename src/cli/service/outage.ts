/**
 * An outage of the service: when to try again, and when to give up.
 *
 * Guarantee: waits only for faults that may pass; every other fault is thrown at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, Failure } from '../terminal/failure.ts';

export interface Patience {
  /** Gives up after this time without a response. */
  giveUpMs: number;
  /** Between two attempts; doubled each time, up to `mostPauseMs`. */
  pauseMs: number;
  mostPauseMs: number;
  /** A connection that is silent for this long counts as lost; the service sends something every 15 seconds. */
  silenceMs: number;
}

export const PATIENCE: Patience = { giveUpMs: 120_000, pauseMs: 250, mostPauseMs: 5000, silenceMs: 45_000 };

export interface Outage {
  /** The service has responded, so the outage is over. */
  over(): void;
  /**
   * Waits until it is time to try again.
   * @throws `fault` when waiting does not help; Failure when `giveUpMs` has passed
   */
  wait(fault: unknown): Promise<void>;
}

export interface OutageOptions {
  patience: Patience;
  signal: AbortSignal;
  /** Called once for each outage. */
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
        throw new Failure(`${fault.message} Gave up waiting for the service.`, { exitCode: EXIT.unreachable, advice });
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
