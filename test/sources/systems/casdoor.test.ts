/** Users of Casdoor: how its password types are converted. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { casdoor } from '../../../src/sources/systems/casdoor.ts';
import { assertRefused, noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(casdoor, record);

const ANN = { owner: 'acme', name: 'ann', id: '1', email: 'a@example.com' };
const of = (passwordType: string, password: string, passwordSalt = '') =>
  convert({ ...ANN, password, passwordSalt, passwordType });

test('each type of password is converted', () => {
  assert.equal(of('plain', 'so so').password, 'so so');
  assert.equal(of('bcrypt', '$2a$10$x').hash, '$2a$10$x');
  assert.equal(of('salt', 'ab', 's').hash, 'ab:s');
  assert.equal(of('md5-salt', 'ab').hash, 'ab');
  assert.equal(of('pbkdf2-salt', 'AAAA', 'c2FsdA==').hash, '$pbkdf2-sha256$27500$c2FsdA$AAAA');
  assertRefused(of('rot13', 'secret'), '$rot13$');
});

test('a masked password is none, and is noted', () => {
  const person = of('bcrypt', '***');
  assert.equal(person.hash, undefined);
  assert.deepEqual(noteIds(person), ['PASSWORD-MASKED']);
});

test('a deleted user is skipped, and a forbidden one inactive', () => {
  assert.ok('skip' in casdoor.converter({})({ ...ANN, is_deleted: '1' }));
  assert.equal(convert({ ...ANN, is_forbidden: '1' }).state, 'inactive');
});

test('a user of an init_data file is recognized, although it names no type of password', () => {
  const user = { owner: 'acme', name: 'ann', password: 'so so', isForbidden: false, signupApplication: 'app' };
  assert.equal(casdoor.recognizes(user, 'json'), 1);
  assert.equal(convert(user).password, 'so so');
});
