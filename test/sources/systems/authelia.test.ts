/** Users of Authelia, with the apps and keys of its own exports. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { authelia } from '../../../src/sources/systems/authelia.ts';
import { noteIds, personOf } from '../people.ts';

const ANN = { '@key': 'ann', displayname: 'Ann Archer', password: '$argon2id$x', email: 'ann@example.com' };
const convert = (record: Fields) => personOf(authelia, { ...ANN, ...record });

test('the key is the name, and groups are kept', () => {
  const { userName, displayName, hash, metadata, emailVerified, state } = convert({
    groups: ['dev'],
    disabled: 'false',
  });
  assert.deepEqual([userName, displayName, hash, emailVerified], ['ann', 'Ann Archer', '$argon2id$x', undefined]);
  assert.deepEqual([metadata, state], [{ groups: ['dev'] }, undefined]);
  assert.equal(convert({ disabled: 'true' }).state, 'inactive');
  assert.equal(convert({ disabled: 'perhaps' }).state, 'inactive');
});

test('apps keep their parameters; only discoverable keys are passkeys', () => {
  const secret = Buffer.from('JBSWY3DPEHPK3PXPAAAA').toString('base64');
  const app = { username: 'ann', algorithm: 'SHA512', digits: '8', period: '60', secret };
  const publicKey =
    'pQECAyYgASFYIKsEEgGtN35kIPbKIKGIa3VDSSjpPlUR/COnZzqtbx7RIlgg1tqbyUA0YDp/V9FWaDQxRoq1lQP4ENs6Qskf6aKwwz4=';
  const key = {
    rpid: 'auth.example.com',
    kid: 'AQID',
    public_key: publicKey,
    sign_count: 3,
    description: 'Key',
    transports: ['usb'],
  };
  const keys = [key, { ...key, kid: 'BAUG', discoverable: true, backup_state: true }];
  const person = convert({ totp_configurations: [app], webauthn_credentials: keys });
  const stored = {
    publicKey: publicKey.replace('/', '_').replace('/', '_').replace('=', ''),
    signCount: 3,
    rpId: 'auth.example.com',
    transports: ['usb'],
    name: 'Key',
  };
  assert.deepEqual(person.totps, [{ secret: 'JBSWY3DPEHPK3PXPAAAA', algorithm: 'SHA512', digits: 8, period: 60 }]);
  assert.deepEqual(person.passkeys, [
    { ...stored, credentialId: 'AQID', secondFactorOnly: true },
    { ...stored, credentialId: 'BAUG', backedUp: true },
  ]);
  assert.deepEqual(person.oldSignIn?.ways, ['password', 'passkey']);
  assert.deepEqual(noteIds(convert({ totp_configurations: [{ secret: '?' }] })), ['SECOND-FACTOR-LOST']);
});
