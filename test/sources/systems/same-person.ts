import assert from 'node:assert/strict';
import type { Person, Skipped } from '../../../src/sources/entry.ts';

/** An absent field and one that is undefined mean the same. */
export function assertSamePerson(actual: Person | Skipped, expected: object): void {
  assert.deepEqual(present(actual), present(expected));
}

function present(person: object): object {
  return Object.fromEntries(Object.entries(person).filter(([, value]) => value !== undefined));
}
