/** How a command ends: its exit code, and an error that a person can act on. */

/** Documented in docs/cli.md; scripts rely on them. */
export const EXIT = {
  /** The command succeeded. */
  ok: 0,
  /** Something else went wrong; the message says what. */
  failed: 1,
  /** The command line, a file or the configuration is wrong; nothing was imported. */
  usage: 2,
  /** The import, or the dry run, ended and some users failed. */
  usersFailed: 3,
  /** Not logged in, or not allowed to do this. */
  denied: 4,
  /** The service cannot be reached, or went away and did not come back. */
  unreachable: 5,
  /** The import was stopped before its end: timed out, cancelled, paused or undone. */
  stopped: 6,
  /** Interrupted by Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error as the person at the terminal sees it: what happened, and what to do next. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: ExitCode;
  /** What to do now: a sentence or a command. */
  readonly advice: string | undefined;
  /** Stable id of the service's error; absent when the error is not the service's. */
  readonly id: string | undefined;
  /** Seconds after which the service asks for a retry. */
  readonly retryAfter: number | undefined;

  constructor(
    message: string,
    options: {
      exitCode?: ExitCode;
      advice?: string | undefined;
      id?: string | undefined;
      retryAfter?: number | undefined;
    } = {},
  ) {
    super(message);
    this.exitCode = options.exitCode ?? EXIT.failed;
    this.advice = options.advice;
    this.id = options.id;
    this.retryAfter = options.retryAfter;
  }
}

/** The command line, a file or the configuration is wrong. @param advice what to do now */
export function wrongUsage(message: string, advice?: string): Failure {
  return new Failure(message, { exitCode: EXIT.usage, advice });
}

/** The person pressed Ctrl-C, or the process received SIGTERM. */
export class Interrupted extends Failure {
  constructor(message: string, advice?: string) {
    super(message, { exitCode: EXIT.interrupted, advice });
  }
}

/**
 * Runs `work` with a signal that Ctrl-C aborts, for work that must clean up first: a bar on the terminal, a half-written
 * file. All other commands keep the default behaviour of the signal.
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

/** The result of the work, or the reason of the signal as soon as it aborts, whatever the work waits for. */
export function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, aborted]);
}
