/** Users of PocketBase: the column of the hash in old and new versions. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { pocketbase } from '../../../src/sources/systems/pocketbase.ts';
import { personOf } from '../people.ts';

const convert = (record: Fields) => personOf(pocketbase, record);

test('the hash has two names', () => {
  assert.equal(convert({ id: '1', password: '$2a$10$x' }).hash, '$2a$10$x');
  assert.equal(convert({ id: '1', passwordHash: '$2a$10$x', tokenKey: 'x', plan: 'gold' }).hash, '$2a$10$x');
  assert.deepEqual(convert({ id: '1', tokenKey: 'x', plan: 'gold' }).metadata, { plan: 'gold' });
});

test('accounts at providers become links, and the password beside them is perhaps made up', () => {
  const accounts = '[{"provider":"google","providerId":"77"}]';
  const { links, oldSignIn } = convert({ id: '1', password: '$2a$10$x', external_auths: accounts });
  assert.deepEqual(links, [{ provider: 'google', externalUserId: '77' }]);
  assert.deepEqual(oldSignIn, { ways: ['password', 'provider'], password: 'perhaps' });
  assert.equal(convert({ id: '1', password: '$2a$10$x', external_auths: null }).oldSignIn, undefined);
});
