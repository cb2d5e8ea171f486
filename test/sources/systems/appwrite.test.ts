/** Users of Appwrite: how its hashes are converted. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { appwrite } from '../../../src/sources/systems/appwrite.ts';
import { assertRefused, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(appwrite, record);

const of = (hash: string, password: string, hashOptions: Fields = {}) =>
  convert({ $id: '1', hash, password, hashOptions });

test('hashes that name their scheme are taken as they are', () => {
  for (const name of ['argon2', 'bcrypt', 'phpass']) assert.equal(of(name, '$x$y').hash, '$x$y');
  assert.equal(of('sha', 'ab', { version: 'sha256' }).hash, 'ab');
});

test("scrypt's options become its parameters", () => {
  const options = { salt: 'seasalt', costCpu: 8, costMemory: 14, costParallel: 1 };
  assert.equal(of('scrypt', '00ff', options).hash, '$scrypt$ln=3,r=14,p=1$c2Vhc2FsdA$AP8');
  assertRefused(of('scrypt', '00ff', { ...options, costCpu: 7 }), '$scrypt$');
});

test('what cannot be verified is refused by name', () => {
  assertRefused(of('sha', 'ab', { version: 'sha3-512' }), '$sha3$');
  assertRefused(of('scryptMod', 'AAAA'), '$scryptmodified$');
  assertRefused(of('whirlpool', 'x'), '$whirlpool$');
});
