/** Managed users of ForgeRock: hashed and encrypted passwords. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { forgerock } from '../../../src/sources/systems/forgerock.ts';
import { assertRefused, assertVerifies, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(forgerock, record);

const ANN = { _id: '1', userName: 'ann', sn: 'Ash', accountStatus: 'active' };
const of = (type: string, value: Fields) => convert({ ...ANN, password: { $crypto: { type, value } } });

test('a salted hash becomes the LDAP form, and verifies', () => {
  // Made by Python: base64(sha256(b"correct horse" + salt) + salt), with a salt of 16 bytes.
  const data = 'TycnyLJ5QhE2eprQH+cZDi318lzhJ/29M/zKKptu2m4wMTIzNDU2Nzg5YWJjZGVm';
  assertVerifies(of('salted-hash', { algorithm: 'SHA-256', data }).hash, 'correct horse');
});

test('other hashes and encrypted passwords are refused by name', () => {
  assert.equal(of('salted-hash', { algorithm: 'BCRYPT', data: '$2a$10$x' }).hash, '$2a$10$x');
  assertRefused(of('salted-hash', { algorithm: 'PBKDF2', data: 'x' }), '$idm-pbkdf2$');
  assertRefused(of('x-simple-encryption', { data: 'x', key: 'y' }), '$idm-simple-encrypt$');
});

test('a user without a password has none, and one who is not active is inactive', () => {
  assert.equal(convert(ANN).hash, undefined);
  assert.equal(convert({ ...ANN, accountStatus: 'inactive' }).state, 'inactive');
});

test('a query for some fields is recognized by its revisions', () => {
  const { accountStatus: _, ...user } = { ...ANN, _rev: '7-1', mail: 'ann@example.com' };
  assert.equal(forgerock.recognizes(user, 'json'), 1);
  assert.equal(forgerock.recognizes({ _id: '1', userName: 'ann', sn: 'Ash' }, 'json'), 0);
  assert.equal(convert({ ...user, password: '{SSHA}x' }).hash, '{SSHA}x');
});
