/** Users of Discourse: hashes, system users, suspension. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { discourse } from '../../../src/sources/systems/discourse.ts';
import { assertRefused, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(discourse, record);

const ANN = { user_id: '3', username: 'ann', email: 'a@example.com', active: 't' };
const HASHED = { password_hash: '00ff', password_salt: 'seasalt', password_algorithm: '$pbkdf2-sha256$i=600000,l=32$' };

test('hash, salt and algorithm become one text; the salt is used as text', () => {
  assert.equal(convert({ ...ANN, ...HASHED }).hash, '$pbkdf2-sha256$600000$c2Vhc2FsdA$AP8');
  assert.equal(convert({ ...ANN, ...HASHED, password_salt: '', salt: 'old' }).hash, '$pbkdf2-sha256$600000$b2xk$AP8');
  assertRefused(convert({ ...ANN, ...HASHED, password_algorithm: '$scrypt$' }), '$discourse-no-algor$');
  assert.equal(convert(ANN).hash, undefined);
});

test('system users are skipped', () => {
  assert.ok('skip' in discourse.converter({})({ ...ANN, user_id: '-1' }));
});

test('a user is inactive while suspended', () => {
  assert.equal(convert({ ...ANN, suspended_till: '3025-01-01 00:00:00' }).state, 'inactive');
  assert.equal(convert({ ...ANN, suspended_till: '2015-01-01 00:00:00' }).state, undefined);
});
