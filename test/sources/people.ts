/** Helpers for tests of converters. */
import assert from 'node:assert/strict';
import { hashProblem, verifyHash } from '../../src/passwords/registry.ts';
import type { Person } from '../../src/sources/entry.ts';
import type { ExportFormat, Fields } from '../../src/sources/source.ts';

/** The person that a source converts a record to, without undefined fields; a skipped record fails the test. */
export function personOf(source: ExportFormat, record: Fields): Person {
  const person = source.converter({})(record);
  assert.ok(!('skip' in person), 'the record is skipped');
  return Object.fromEntries(Object.entries(person).filter(([, value]) => value !== undefined));
}

/** The hash is accepted, and matches this password and no other. */
export function assertVerifies(hash: string | undefined, password: string): void {
  assert.ok(hash !== undefined, 'there is no hash');
  assert.equal(hashProblem(hash), undefined);
  assert.ok(verifyHash(hash, password));
  assert.ok(!verifyHash(hash, `${password}!`));
}

/** The service will reject the user by this scheme's name, which a note announces. */
export function assertRefused(person: Person, hash: string): void {
  assert.equal(person.hash, hash);
  assert.ok(hashProblem(hash) !== undefined);
  assert.ok(person.notes?.some(({ id }) => id === 'HASH-UNSUPPORTED'));
}

export function noteIds(person: Person): string[] {
  return (person.notes ?? []).map(({ id }) => id);
}
