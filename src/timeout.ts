/** An end to waiting for what has no time limit of its own. Holds no state; on crash nothing is left. */

/** What was waited for did not come in time; it may still happen. The code is that of a connection that timed out. */
export class TimedOut extends Error {
  readonly code = 'ETIMEDOUT';
  constructor(what: string, ms: number) {
    super(`${what} did not answer within ${ms} ms`);
    this.name = 'TimedOut';
  }
}

/**
 * The value of `work` if it comes within `ms` milliseconds. What it comes to later is ignored.
 * @param what begins the message: "the queue"
 * @throws TimedOut, or what `work` throws
 */
export async function withTimeout<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimedOut(what, ms)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
