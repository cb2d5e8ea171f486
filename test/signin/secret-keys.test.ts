/** Several encryption keys at once: what each of them can still do while ENCRYPTION_KEY is being replaced. */
import assert from 'node:assert/strict';
import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';
import test from 'node:test';
import { registerKeys, requireKeys } from '../../src/operate/known-keys.ts';
import { readConfig } from '../../src/platform/config.ts';
import { keyIdOf, openSecrets } from '../../src/platform/encryption.ts';
import { testDatabase } from '../support/stores/postgres.ts';

const [A, B] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
const first = openSecrets(A);
const told = openSecrets(A, [B]);
const switched = openSecrets(B, [A]);
const last = openSecrets(B);

test('processes read each other’s values at each step, and sealed values name their key', () => {
  for (const [writer, readers] of [
    [first, [first, told]],
    [told, [first, told, switched]],
    [switched, [told, switched, last]],
    [last, [switched, last]],
  ] as const) {
    const sealed = writer.seal('secret', 'test');
    // Without further keys a value has no id, as processes of a version without ids read it during an upgrade.
    assert.equal(keyIdOf(sealed), writer.keyIds.length > 1 ? writer.keyIds[0] : undefined);
    for (const reader of readers) assert.equal(reader.unseal(sealed, 'test'), 'secret');
  }
  assert.throws(() => last.unseal(told.seal('secret', 'test'), 'test'), /key [0-9a-f]{8}, which is neither/);
  assert.throws(() => last.unseal(first.seal('secret', 'test'), 'test'));
  assert.throws(() => switched.unseal(first.seal('secret', 'test'), 'other'));
});

test('a value without a key id, of an earlier version, is read with whichever key made it', () => {
  const key = Buffer.from(hkdfSync('sha256', Buffer.from(A, 'base64'), '', 'muster:seal', 32));
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from('test'));
  const body = Buffer.concat([cipher.update('old'), cipher.final()]);
  const sealed = Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
  assert.equal(keyIdOf(sealed), undefined);
  for (const secrets of [first, told, switched]) assert.equal(secrets.unseal(sealed, 'test'), 'old');
  assert.throws(() => last.unseal(sealed, 'test'));
});

test('codes and cookies of an earlier key stay valid, new ones are of the current key', () => {
  assert.deepEqual(switched.codes('7', 0), [last.code('7', 0), first.code('7', 0)]);
  assert.equal(switched.code('7', 0), last.code('7', 0));
  assert.deepEqual(switched.keys('cookies'), [...last.keys('cookies'), ...first.keys('cookies')]);
});

test('a key twice counts once, and invalid keys are refused', () => {
  assert.equal(openSecrets(A, [A, B]).keyIds.length, 2);
  assert.deepEqual(readConfig({ DECRYPTION_KEYS: `${A}, ${B}` }).DECRYPTION_KEYS, [A, B]);
  assert.throws(() => readConfig({ DECRYPTION_KEYS: `${A},short` }), /DECRYPTION_KEYS.*must be keys of 32 bytes/);
});

test('a process that lacks a key of the database does not start, and registers nothing', async (t) => {
  const { pool } = await testDatabase(t);
  await registerKeys(pool, told);
  await registerKeys(pool, switched);
  await registerKeys(pool, switched);
  const { rows } = await pool.query('select id from encryption_keys order by registered_at');
  assert.deepEqual(rows, [{ id: first.keyIds[0] }, { id: last.keyIds[0] }]);
  const other = openSecrets(randomBytes(32).toString('base64'), [A]);
  for (const lacking of [first, last, other]) {
    await assert.rejects(registerKeys(pool, lacking), /needs the encryption key with the id .*DECRYPTION_KEYS/);
  }
  assert.equal((await pool.query('select from encryption_keys')).rowCount, 2);
  await requireKeys(pool, told);
  await assert.rejects(requireKeys(pool, first), /needs the encryption key/, 'as one that runs since before');
});
