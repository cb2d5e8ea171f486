/** Users of PingOne: states and the population. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { pingone } from '../../../src/sources/systems/pingone.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(pingone, record);

test('locked and disabled users, and the population', () => {
  const ann = { id: '1', username: 'ann', environment: { id: 'e' }, population: { id: 'p' } };
  assert.equal(convert({ ...ann, account: { status: 'LOCKED', canAuthenticate: true } }).state, 'locked');
  assert.equal(convert({ ...ann, enabled: false }).state, 'inactive');
  assert.equal(convert({ ...ann, account: { status: 'OK', canAuthenticate: false } }).state, 'inactive');
  assert.deepEqual(convert(ann).metadata, { population: 'p' });
});

test('a second factor, and a provider that signs the user in, are noted; devices tell passkeys', () => {
  const ann = { id: '1', username: 'ann', environment: { id: 'e' }, population: { id: 'p' } };
  const notesOf = (more: Fields) => noteIds(convert({ ...ann, ...more }));
  assert.deepEqual(notesOf({ mfaEnabled: true }), ['SECOND-FACTOR-LOST']);
  assert.deepEqual(notesOf({ mfaEnabled: false, identityProvider: { type: 'PING_ONE' } }), []);
  assert.deepEqual(notesOf({ identityProvider: { id: 'i', type: 'SAML' } }), ['PINGONE-PASSWORD-ELSEWHERE']);
  const devices = [{ id: 'd', type: 'FIDO2', status: 'ACTIVE' }];
  assert.deepEqual(notesOf({ mfaEnabled: true, devices }), ['PASSKEY-LOST']);
  assert.deepEqual(notesOf({ devices: { _embedded: { devices: [{ id: 'd', type: 'SMS' }] } } }), [
    'SECOND-FACTOR-LOST',
  ]);
});

test('linked accounts become links and ways', () => {
  const ann = { id: '1', username: 'ann', environment: { id: 'e' }, population: { id: 'p' } };
  const account = (type: string) => ({
    externalId: '77',
    identityProvider: { id: 'i1' },
    _embedded: { identityProvider: { id: 'i1', name: 'Acme', type } },
  });
  const { links, oldSignIn } = convert({ ...ann, linkedAccounts: [account('SAML')] });
  assert.deepEqual(links, [{ provider: 'Acme', externalUserId: '77' }]);
  assert.deepEqual(oldSignIn?.ways, ['enterprise']);
  assert.deepEqual(convert({ ...ann, linkedAccounts: [account('GOOGLE')] }).oldSignIn?.ways, ['provider']);
  const plain = convert({ ...ann, linkedAccounts: [{ externalId: '77', identityProvider: { id: 'i1' } }] });
  assert.deepEqual(plain.links, [{ provider: 'i1', externalUserId: '77' }]);
  assert.deepEqual(plain.oldSignIn?.ways, ['provider']);
});
