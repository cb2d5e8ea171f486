import assert from 'node:assert/strict';
import test from 'node:test';
import { openHashLint } from '../../../src/imports/entries/notes.ts';
import { HASH } from '../../support/imports/imports.ts';

const hashed = (value: unknown) => ({ user: { hashedPassword: { value } } });

test('hashes are counted by scheme, and by whether they will verify', () => {
  const lint = openHashLint();
  for (const hash of [HASH, HASH, HASH, '$2b$10$short', '$argon2$v=19$x', '$argon2$v=19$y', 'sha1:abc']) {
    lint.see(hashed(hash));
  }
  assert.deepEqual(lint.list(), [
    { scheme: 'bcrypt', users: 3, verifiable: true },
    { scheme: '$argon2$', users: 2, verifiable: false },
    { scheme: 'bcrypt', users: 1, verifiable: false },
    { scheme: 'unknown', users: 1, verifiable: false },
  ]);
});

test('a scheme without leading dollar signs is listed as its system writes it', () => {
  const lint = openHashLint();
  for (const hash of [
    'pbkdf2_sha256$1$salt$MTIzNDU2Nzg5MDEy',
    'foo_sha256$1$salt$x',
    'foo_sha256$2$salt$y',
    '{FOO}x',
  ]) {
    lint.see(hashed(hash));
  }
  assert.deepEqual(lint.list(), [
    { scheme: 'foo_sha256', users: 2, verifiable: false },
    { scheme: 'django pbkdf2_sha256', users: 1, verifiable: true },
    { scheme: '{FOO}', users: 1, verifiable: false },
  ]);
});

test('users without a hash, or with one that is not a string, are not counted', () => {
  const lint = openHashLint();
  for (const entry of [null, 7, 'x', {}, { user: null }, { user: {} }, { user: { hashedPassword: 7 } }, hashed(7)]) {
    lint.see(entry);
  }
  assert.deepEqual(lint.list(), []);
});

test('the list stays short for any body', () => {
  const lint = openHashLint();
  for (let i = 0; i < 5000; i++) lint.see(hashed(`$made-up-${i}$x`));
  const list = lint.list();
  assert.ok(list.length <= 101, `${list.length}`);
  assert.equal(
    list.reduce((sum, { users }) => sum + users, 0),
    5000,
  );
});
