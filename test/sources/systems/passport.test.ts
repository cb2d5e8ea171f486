/** Users of passport-local-mongoose: the first block of the hash, other costs. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { passport } from '../../../src/sources/systems/passport.ts';
import { assertRefused, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(passport, record);

const ANN = {
  _id: { $oid: '6b045d6d316d627f9b445805' },
  username: 'ann',
  email: 'a@example.com',
  salt: 'seasalt',
  hash: '00ff'.repeat(64),
};

test('the hash is cut to its first block; the salt is used as text', () => {
  const person = convert(ANN);
  assert.equal(person.userId, '6b045d6d316d627f9b445805');
  assert.equal(
    person.hash,
    `$pbkdf2-sha256$25000$c2Vhc2FsdA$${Buffer.from('00ff'.repeat(16), 'hex').toString('base64').replace('=', '')}`,
  );
});

test('other options of the application come from --hash-config', () => {
  const person = passport.converter({ hashConfig: "iterations: 9\ndigestAlgorithm: 'sha512'" })(ANN);
  assert.match(('hash' in person && person.hash) || '', /^\$pbkdf2-sha512\$9\$c2Vhc2FsdA\$.{86}$/);
});

test('a digest that is not known, and a hash that is too short, are refused', () => {
  const person = passport.converter({ hashConfig: 'digestAlgorithm: whirlpool' })(ANN);
  assert.equal('hash' in person && person.hash, '$pbkdf2-whirlpool$');
  assertRefused(convert({ ...ANN, hash: '00ff' }), '$pbkdf2-sha256$');
});
