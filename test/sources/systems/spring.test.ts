/** Users of Spring Security: which passwords are taken, and what the columns become. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { spring } from '../../../src/sources/systems/spring.ts';
import { assertRefused, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(spring, record);

const ANN = { username: 'ann@example.com', enabled: true, password: '{bcrypt}$2a$10$x' };

test('the user name is the address, if it is one and there is no other', () => {
  assert.equal(convert(ANN).email, 'ann@example.com');
  assert.equal(convert({ ...ANN, email: 'a@example.com' }).email, 'a@example.com');
  assert.equal(convert({ ...ANN, username: 'ann' }).email, undefined);
});

test('{noop} is a plain password', () => {
  const person = convert({ ...ANN, password: '{noop}so so' });
  assert.equal(person.password, 'so so');
  assert.equal(person.hash, undefined);
});

test('an unknown encoder is named, without any part of its hash', () => {
  assertRefused(convert({ ...ANN, password: '{MD4}6cc7924dad12ade79dfb99e424f25260' }), '$md4$');
  assertRefused(convert({ ...ANN, password: 'no scheme at all' }), '$unknown$');
});

test('users are disabled or locked', () => {
  assert.equal(convert({ ...ANN, enabled: 'f' }).state, 'inactive');
  assert.equal(convert({ ...ANN, account_non_locked: false }).state, 'locked');
});

test('a table without an encoder in its passwords is not recognized', () => {
  assert.equal(spring.recognizes({ ...ANN, password: '$2a$10$x' }, 'csv'), 0);
});

test('passkeys are noted, and authorities are kept', () => {
  const { notes, metadata, oldSignIn } = convert({ ...ANN, passkeys: '[{"id":"p"}]', authorities: '["ROLE_USER"]' });
  assert.deepEqual(
    notes?.map(({ id }) => id),
    ['PASSKEY-LOST'],
  );
  assert.deepEqual(metadata, { authorities: '["ROLE_USER"]' });
  assert.deepEqual(oldSignIn?.ways, ['password', 'passkey']);
});
