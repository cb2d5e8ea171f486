/** Users of Akamai Identity Cloud: passwords with their type, dates that mean yes. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { akamai } from '../../../src/sources/systems/akamai.ts';
import { assertRefused, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(akamai, record);

const ANN = { uuid: 'u', email: 'a@example.com', givenName: 'Ann', familyName: 'Ash', primaryAddress: {} };
const of = (type: string, value: string) => convert({ ...ANN, password: { type, value } });

test('a password is taken by its type', () => {
  assert.equal(of('password-bcrypt', '$2a$10$x').hash, '$2a$10$x');
  assertRefused(of('password-custom', 'AAAA'), '$password-custom$');
  assert.equal(convert({ ...ANN, password: null }).hash, undefined);
});

test('dates mean yes', () => {
  const person = convert({ ...ANN, emailVerified: '2025-03-01', deactivateAccount: '2025-03-01' });
  assert.equal(person.emailVerified, true);
  assert.equal(person.state, 'inactive');
  assert.equal(convert({ ...ANN, emailVerified: null }).emailVerified, false);
});
