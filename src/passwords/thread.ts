/** The tasks of a password thread: `hasher.ts` calls each export by name. A task blocks its thread by design. */
import { computeNothing, makeHash, verifyPassword } from './current.ts';

export function hash({ plain, cost }: { plain: string; cost: number }): string {
  return makeHash(plain, cost);
}

export function verify({ encoded, plain, cost }: { encoded: string; plain: string; cost: number }): {
  ok: boolean;
  rehash: boolean;
} {
  return verifyPassword(encoded, plain, cost);
}

export function nothing({ plain, cost }: { plain: string; cost: number }): void {
  computeNothing(plain, cost);
}
