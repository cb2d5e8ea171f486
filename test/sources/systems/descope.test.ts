/** Users of Descope: what they type to sign in. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { descope } from '../../../src/sources/systems/descope.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(descope, record);

const ANN = { userId: 'U1', email: 'ann@example.com', phone: '+41791234567' };

test('the user name is the login id that is neither address nor number', () => {
  assert.equal(convert({ ...ANN, loginIds: ['+41791234567', 'ann'] }).userName, 'ann');
  assert.equal(convert({ ...ANN, loginIds: ['ann', 'ann@example.com'] }).userName, undefined);
  assert.equal(convert({ ...ANN, loginIds: ['+41791234567'] }).userName, undefined);
});

test('a disabled user is inactive, and an authenticator app is noted', () => {
  const person = convert({ ...ANN, loginIds: [], status: 'disabled', TOTP: true, userTenants: [{ tenantId: 'T' }] });
  assert.equal(person.state, 'inactive');
  assert.deepEqual(noteIds(person), ['SECOND-FACTOR-LOST']);
  assert.deepEqual(person.metadata, { userTenants: [{ tenantId: 'T' }] });
});
