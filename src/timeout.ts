/** A time limit for operations that have none of their own. On crash: nothing is left, as it has no state. */

/** The operation did not finish in time; it may still finish later. The code is that of a connection timeout. */
export class TimedOut extends Error {
  readonly code = 'ETIMEDOUT';
  constructor(what: string, ms: number) {
    super(`${what} did not answer within ${ms} ms`);
    this.name = 'TimedOut';
  }
}

/**
 * The value of `work` if it is ready within `ms` milliseconds. A later result is ignored.
 * @param what subject of the error message, such as "the queue"
 * @throws TimedOut, or what `work` throws
 */
export async function withTimeout<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimedOut(what, ms)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
