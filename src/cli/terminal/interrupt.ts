/**
 * Ctrl-C for work that has something to put in order first: a bar on the terminal, a half-written file. All other
 * commands end as the system ends them.
 */
import { EXIT, Failure } from './failure.ts';

/** The person pressed Ctrl-C, or somebody asked the command to end. */
export class Interrupted extends Failure {
  constructor(message: string, advice?: string) {
    super(message, { exitCode: EXIT.interrupted, advice });
  }
}

/**
 * Runs `work` with a signal that Ctrl-C aborts.
 * @param left what the person is told then; the reason of the signal
 * @throws whatever `work` throws
 */
export async function untilInterrupted<T>(left: Interrupted, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const stop = () => interruption.abort(left);
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    return await work(interruption.signal);
  } finally {
    // A second one must not cut off what is said about the first: the command ends now in any case.
    if (!interruption.signal.aborted) process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
