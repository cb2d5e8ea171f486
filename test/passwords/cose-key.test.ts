/** Public keys of passkeys: every form of a key becomes the same COSE key, and what cannot be used is refused. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { readPasskeyKey } from '../../src/passwords/cose-key.ts';
import { passkey } from '../support/passkeys.ts';

for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const) {
  test(`a key for ${algorithm} is read as COSE, as PEM and as SubjectPublicKeyInfo, in either base64`, () => {
    const { cose, pem, spki } = passkey('key', { algorithm });
    const forms = [cose.toString('base64url'), cose.toString('base64'), pem, spki];
    for (const form of forms) assert.deepEqual(readPasskeyKey(form), { key: cose });
  });
}

test('other curves of ECDSA are read', () => {
  for (const namedCurve of ['P-384', 'P-521']) {
    const pem = generateKeyPairSync('ec', { namedCurve }).publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const read = readPasskeyKey(pem);
    assert.ok('key' in read);
    assert.deepEqual(readPasskeyKey(read.key.toString('base64url')), read);
  }
});

test('what is no public key, or none that signs safely, is refused', () => {
  const { cose } = passkey('key');
  const offCurve = Buffer.from(cose);
  offCurve[offCurve.length - 1] = (offCurve.at(-1) as number) ^ 1;
  const secp256k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey;
  const x25519 = generateKeyPairSync('x25519').publicKey;
  const pems = [secp256k1, x25519].map((key) => key.export({ type: 'spki', format: 'pem' }).toString());
  const broken = [Buffer.alloc(0), cose.subarray(1), cose.subarray(0, -1), Buffer.concat([cose, cose]), offCurve];
  const texts = ['', '?', 'AAAA', 'a'.repeat(5000), ...pems, ...broken.map((bytes) => bytes.toString('base64url'))];
  for (const text of texts) assert.ok('problem' in readPasskeyKey(text), text);
  for (let n = 0; n < 500; n++) {
    const bytes = Buffer.from(cose);
    bytes[n % 10] = randomBytes(1)[0] as number;
    const read = readPasskeyKey(bytes.toString('base64url'));
    assert.ok('problem' in read || read.key.equals(cose), bytes.toString('hex'));
  }
});
