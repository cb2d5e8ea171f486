/**
 * Ctrl-C for work that must clean up first: a bar on the terminal, a half-written file. All other commands keep the
 * default behaviour of the signal.
 */
import { EXIT, Failure } from './failure.ts';

/** The person pressed Ctrl-C, or the process received SIGTERM. */
export class Interrupted extends Failure {
  constructor(message: string, advice?: string) {
    super(message, { exitCode: EXIT.interrupted, advice });
  }
}

/** The result of the work, or the reason of the signal as soon as it aborts, whatever the work waits for. */
export function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, aborted]);
}

/**
 * Runs `work` with a signal that Ctrl-C aborts.
 * @param left the error to show then; the reason of the signal
 * @throws whatever `work` throws
 */
export async function untilInterrupted<T>(left: Interrupted, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const stop = () => interruption.abort(left);
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    return await work(interruption.signal);
  } finally {
    // Once interrupted, the handlers stay: a second signal must not cut off the message, and the command ends anyway.
    if (!interruption.signal.aborted) process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
