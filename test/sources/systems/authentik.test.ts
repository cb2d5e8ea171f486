/** Users of authentik: service accounts, unusable passwords, attributes. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { authentik } from '../../../src/sources/systems/authentik.ts';
import { personOf } from '../people.ts';

const convert = (record: Fields) => personOf(authentik, record);

const ANN = { uuid: 'u', username: 'ann', email: 'a@example.com', type: 'internal', path: 'users' };

test('service accounts are skipped', () => {
  for (const type of ['service_account', 'internal_service_account']) {
    assert.ok('skip' in authentik.converter({})({ ...ANN, type }));
  }
});

test('an unusable password is none', () => {
  assert.equal(convert({ ...ANN, password: '!x' }).hash, undefined);
  assert.equal(convert({ ...ANN, password: 'pbkdf2_sha256$1$x$y' }).hash, 'pbkdf2_sha256$1$x$y');
});

test('attributes become metadata, and the locale of the settings the language', () => {
  const person = convert({ ...ANN, attributes: '{"settings":{"locale":"de"},"team":"red"}', groups: ['g'] });
  assert.equal(person.language, 'de');
  assert.deepEqual(person.metadata, { team: 'red', groups: ['g'] });
});
