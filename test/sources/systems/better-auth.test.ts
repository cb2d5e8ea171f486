/** Users of better-auth: the password of the credential account, links, columns of plugins. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { betterAuth } from '../../../src/sources/systems/better-auth.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(betterAuth, record);

const ANN = { id: 'u1', name: 'Ann Ash', email: 'ann@example.com', emailVerified: true };
const credential = { providerId: 'credential', accountId: 'u1', password: 'salt:key' };

test('the password is that of the credential account, and the other accounts become links', () => {
  const accounts = [{ providerId: 'google', accountId: '7', password: null }, credential];
  const person = convert({ ...ANN, accounts, role: 'admin', image: 'x', apiToken: 'x' });
  assert.equal(person.hash, 'salt:key');
  assert.deepEqual(person.links, [{ provider: 'google', externalUserId: '7' }]);
  assert.deepEqual(person.metadata, { role: 'admin', image: 'x' });
});

test('columns may be in snake case, and accounts JSON text', () => {
  const accounts = JSON.stringify([{ provider_id: 'credential', account_id: 'u1', password: 'salt:key' }]);
  const row = { id: 'u1', email: 'ann@example.com', email_verified: 'f', accounts };
  assert.equal(betterAuth.recognizes(row, 'csv'), 1);
  assert.equal(convert(row).hash, 'salt:key');
  assert.equal(convert(row).emailVerified, false);
});

test('a banned user is inactive, and a second factor is noted', () => {
  const person = convert({ ...ANN, accounts: [credential], banned: true, twoFactorEnabled: true, username: 'ann' });
  assert.equal(person.state, 'inactive');
  assert.equal(person.userName, 'ann');
  assert.deepEqual(noteIds(person), ['SECOND-FACTOR-LOST', 'RECOVERY-CODES-LOST']);
});
