/** The tasks of a password thread: `hasher.ts` calls each export by name. A task blocks its thread by design. */
import { computeNothing, makeHash, verifyPassword } from './registry.ts';

/** The result of a task, and how many milliseconds it ran. */
export interface Timed<T> {
  result: T;
  ms: number;
}

export function hash({ plain, cost }: { plain: string; cost: number }): Timed<string> {
  return timed(() => makeHash(plain, cost));
}

/** @param plain bytes lose their class on the way to the thread */
export function verify({ encoded, plain, cost }: { encoded: string; plain: string | Uint8Array; cost: number }): Timed<{
  ok: boolean;
  rehash: boolean;
}> {
  return timed(() => verifyPassword(encoded, typeof plain === 'string' ? plain : Buffer.from(plain), cost));
}

export function nothing({ plain, cost }: { plain: string; cost: number }): Timed<void> {
  return timed(() => computeNothing(plain, cost));
}

function timed<T>(task: () => T): Timed<T> {
  const began = performance.now();
  const result = task();
  return { result, ms: performance.now() - began };
}
