/** Users of phpBB: types of users, and which columns are kept. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { phpbb } from '../../../src/sources/systems/phpbb.ts';
import { personOf } from '../people.ts';

const convert = (record: Fields) => personOf(phpbb, record);

const ANN = {
  user_id: '2',
  username: 'Ann',
  username_clean: 'ann',
  user_email: 'a@example.com',
  user_password: '$H$9x',
};

test('bots and the guest are skipped, and users who wait are inactive', () => {
  assert.ok('skip' in phpbb.converter({})({ ...ANN, user_type: 2 }));
  assert.equal(convert({ ...ANN, user_type: 1 }).state, 'inactive');
  assert.equal(convert({ ...ANN, user_type: 3 }).state, undefined);
});

test('profile fields are kept, counters and settings are not', () => {
  const person = convert({ ...ANN, pf_city: 'Bern', user_posts: 7, user_timezone: 'UTC', user_form_salt: 'x' });
  assert.deepEqual(person.metadata, { pf_city: 'Bern', user_timezone: 'UTC' });
});

test('accounts of providers and groups can be joined', () => {
  const accounts = '[{"provider":"auth.provider.oauth.service.google","oauth_provider_id":"77"}]';
  const person = convert({ ...ANN, oauth_accounts: accounts, groups: '["5"]' });
  assert.deepEqual(person.links, [{ provider: 'auth.provider.oauth.service.google', externalUserId: '77' }]);
  assert.deepEqual(person.oldSignIn?.ways, ['password', 'provider']);
  assert.deepEqual(person.metadata, { groups: '["5"]' });
});
