/**
 * Keeps track of everything that a bench starts, and ends it.
 *
 * Guarantee: `close` ends everything in reverse order, including things that were still starting; nothing starts after
 * it.
 *
 * On crash: servers and processes end on their own; only the folder of the run is left behind.
 */
export interface Scope {
  /**
   * Starts something that `close` ends.
   * @throws Error when the scope is already closed
   */
  start<T>(open: () => Promise<T>, close: (opened: T) => Promise<unknown>): Promise<T>;
  /** Runs `work` with its own scope, which is closed when the work is done or has failed. */
  within<T>(work: (inner: Scope) => Promise<T>): Promise<T>;
  /** Idempotent. */
  close(): Promise<void>;
}

export function openScope(): Scope {
  const closers: (() => Promise<unknown>)[] = [];
  const starting = new Set<Promise<unknown>>();
  let closed: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    await Promise.allSettled(starting);
    const faults: unknown[] = [];
    for (const close of closers.reverse()) await close().catch((error) => faults.push(error));
    if (faults.length > 0) throw faults[0];
  }

  const scope: Scope = {
    async start(open, close) {
      if (closed) throw new Error('The run is ending.');
      const opening = open().then((opened) => {
        closers.push(() => close(opened));
        return opened;
      });
      starting.add(opening);
      return opening.finally(() => starting.delete(opening));
    },
    async within(work) {
      const inner = await scope.start(
        async () => openScope(),
        (opened) => opened.close(),
      );
      try {
        return await work(inner);
      } finally {
        await inner.close();
      }
    },
    close() {
      closed ??= closeAll();
      return closed;
    },
  };
  return scope;
}
