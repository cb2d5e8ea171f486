/** What tests of converters share. */
import assert from 'node:assert/strict';
import { hashProblem, verifyHash } from '../../src/passwords/registry.ts';
import type { Person } from '../../src/sources/person.ts';
import type { Fields, Source } from '../../src/sources/source.ts';

/** What a source makes of a record, without the fields that are undefined; a record that is skipped fails the test. */
export function personOf(source: Source, record: Fields): Person {
  const person = source.converter({})(record);
  assert.ok(!('skip' in person), 'the record is skipped');
  return Object.fromEntries(Object.entries(person).filter(([, value]) => value !== undefined));
}

/** The hash is accepted, and is of this password and of no other. */
export function assertVerifies(hash: string | undefined, password: string): void {
  assert.ok(hash !== undefined, 'there is no hash');
  assert.equal(hashProblem(hash), undefined);
  assert.ok(verifyHash(hash, password));
  assert.ok(!verifyHash(hash, `${password}!`));
}

/** The user will be refused, with this name of a scheme, and the owner is told beforehand. */
export function assertRefused(person: Person, hash: string): void {
  assert.equal(person.hash, hash);
  assert.ok(hashProblem(hash) !== undefined);
  assert.ok(person.notes?.some(({ id }) => id === 'HASH-UNSUPPORTED'));
}

export function noteIds(person: Person): string[] {
  return (person.notes ?? []).map(({ id }) => id);
}
