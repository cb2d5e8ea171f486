/**
 * Passwords are hashed and verified here, in threads and never on the event loop.
 *
 * Guarantee: no task is dropped by `close`; it waits for those that were asked for. Threads start with the first task
 * and end when idle; they keep no process alive. Nothing is stored: a crash in mid-hash loses only an answer, and a
 * thread that dies rejects its own task.
 */
import { Piscina } from 'piscina';

export interface Hasher {
  /** A new hash in Modular Crypt Format: bcrypt, or argon2id when the password is longer than 72 bytes of UTF-8. */
  hash(plain: string): Promise<string>;
  /**
   * Whether the password makes the hash, and, if so, whether the hash should be replaced by `hash(plain)` because its
   * scheme or cost is not today's. A hash that does not see all of the password stays. `ok` is false for a hash that
   * `hashProblem` names a problem of.
   */
  verify(encoded: string, plain: string): Promise<{ ok: boolean; rehash: boolean }>;
  /** Takes as long as `verify` of a wrong password: for users that do not exist. */
  verifyNothing(plain: string): Promise<void>;
  /** Waits for the tasks under way, then ends the threads. Every later call rejects. */
  close(): Promise<void>;
}

/** `threads` at most at a time; bcrypt cost of new hashes, 4 to 16; milliseconds after which an idle thread ends. */
export interface HasherOptions {
  threads: number;
  bcryptCost?: number;
  idleMs?: number;
}

/** Starts nothing yet: the first task starts the first thread. */
export function openHasher({ threads, bcryptCost = 10, idleMs = 30_000 }: HasherOptions): Hasher {
  const pool = new Piscina({
    filename: new URL('./thread.ts', import.meta.url).href,
    name: 'verify',
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleMs,
    // Without it each finished task sends the head of the queue to its tail.
    stricterFIFO: true,
  });
  const underWay = new Set<Promise<unknown>>();
  let closed = false;

  function run<T>(name: string, task: Record<string, string>): Promise<T> {
    if (closed) return Promise.reject(new Error('the password hasher is closed'));
    const result: Promise<T> = pool.run({ ...task, cost: bcryptCost }, { name });
    const forget = () => {
      underWay.delete(result);
    };
    underWay.add(result);
    result.then(forget, forget);
    return result;
  }

  return {
    hash: (plain) => run('hash', { plain }),
    verify: (encoded, plain) => run('verify', { encoded, plain }),
    verifyNothing: (plain) => run('nothing', { plain }),
    async close() {
      closed = true;
      // The pool's own close() drops what waits while its first thread is still starting.
      await Promise.allSettled(underWay);
      await pool.destroy();
    },
  };
}
