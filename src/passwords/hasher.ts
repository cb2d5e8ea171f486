/**
 * Hashes and verifies passwords in threads, never on the event loop.
 *
 * Guarantee: `close` drops no task; it waits for all that were submitted. Threads start with the first task and end
 * when idle; they keep no process alive.
 *
 * On crash: nothing is stored, so a crash during a hash loses only its result. A thread that dies rejects its own task.
 */
import { Piscina } from 'piscina';

export interface Hasher {
  /** A new hash in Modular Crypt Format: bcrypt, or argon2id when the password is longer than 72 bytes of UTF-8. */
  hash(plain: string): Promise<string>;
  /**
   * `ok`: the password matches the hash. `rehash`: replace the hash by `hash(plain)`, because its scheme or cost is
   * outdated. A hash that ignores part of the password stays. `ok` is false for every hash that `hashProblem` rejects.
   */
  verify(encoded: string, plain: string): Promise<{ ok: boolean; rehash: boolean }>;
  /** Takes as long as `verify` with a wrong password: for users that do not exist. */
  verifyNothing(plain: string): Promise<void>;
  /** Waits for the pending tasks, then ends the threads. Every later call rejects. */
  close(): Promise<void>;
}

/** Largest number of threads; bcrypt cost of new hashes, 4 to 16; milliseconds after which an idle thread ends. */
export interface HasherOptions {
  threads: number;
  bcryptCost?: number;
  idleMs?: number;
}

/** Starts no thread yet: the first task does. */
export function openHasher({ threads, bcryptCost = 10, idleMs = 30_000 }: HasherOptions): Hasher {
  const pool = new Piscina({
    filename: new URL('./thread.ts', import.meta.url).href,
    name: 'verify',
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleMs,
    // Without this option, each finished task moves the head of the queue to its tail.
    stricterFIFO: true,
  });
  const underWay = new Set<Promise<unknown>>();
  let closed = false;

  function run<T>(name: string, task: Record<string, string>): Promise<T> {
    if (closed) return Promise.reject(new Error('The password hasher is closed.'));
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
      // The pool's own close() drops waiting tasks while its first thread is still starting.
      await Promise.allSettled(underWay);
      await pool.destroy();
    },
  };
}
