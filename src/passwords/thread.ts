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

export function verify({ encoded, plain, cost }: { encoded: string; plain: string; cost: number }): Timed<{
  ok: boolean;
  rehash: boolean;
}> {
  return timed(() => verifyPassword(encoded, plain, cost));
}

export function nothing({ plain, cost }: { plain: string; cost: number }): Timed<void> {
  return timed(() => computeNothing(plain, cost));
}

function timed<T>(task: () => T): Timed<T> {
  const began = performance.now();
  const result = task();
  return { result, ms: performance.now() - began };
}
