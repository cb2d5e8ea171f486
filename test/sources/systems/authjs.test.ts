/** Users of Auth.js: a date means verified, accounts become links. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { authjs } from '../../../src/sources/systems/authjs.ts';
import { personOf } from '../people.ts';

const convert = (record: Fields) => personOf(authjs, record);

test('an address is verified if emailVerified is a date', () => {
  const accounts = [{ provider: 'github', providerAccountId: '7', access_token: 'x' }];
  const person = convert({ id: '1', email: 'ann@example.com', emailVerified: '2025-03-01T09:00:00Z', accounts });
  assert.equal(person.emailVerified, true);
  assert.deepEqual(person.links, [{ provider: 'github', externalUserId: '7' }]);
  assert.equal(convert({ id: '1', email: 'ann@example.com', emailVerified: null, accounts }).emailVerified, false);
});

test('the hash of a column of the application is taken', () => {
  assert.equal(
    convert({ id: '1', email: 'ann@example.com', hashedPassword: '$2b$04$x', accounts: [] }).hash,
    '$2b$04$x',
  );
});
