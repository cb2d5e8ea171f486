/** Users of Microsoft Graph: which identity gives the name, the address and the links. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { entra } from '../../../src/sources/systems/entra.ts';
import { personOf } from '../people.ts';

const convert = (record: Fields) => personOf(entra, record);

const ID = '7d1f0a10-0000-4000-8000-000000000001';
const identity = (signInType: string, issuerAssignedId: string, issuer = 'x.onmicrosoft.com') => ({
  signInType,
  issuer,
  issuerAssignedId,
});

test('a local account signs in with its address; the generated principal name is not used', () => {
  const identities = [identity('emailAddress', 'ann@example.com'), identity('federated', '7', 'google.com')];
  const person = convert({
    id: ID,
    userPrincipalName: `${ID}@x.onmicrosoft.com`,
    mail: 'other@example.com',
    identities,
  });
  assert.equal(person.email, 'ann@example.com');
  assert.equal(person.userName, undefined);
  assert.deepEqual(person.links, [{ provider: 'google.com', externalUserId: '7' }]);
});

test('a user of a provider has no password, whatever the generated principal name', () => {
  const principal = identity('userPrincipalName', `${ID}@x.onmicrosoft.com`);
  const ways = (...identities: Fields[]) => convert({ id: ID, mail: 'ann@example.com', identities }).oldSignIn?.ways;
  assert.deepEqual(ways(identity('federated', '7', 'google.com'), principal), ['provider']);
  assert.deepEqual(ways(identity('federated', '7', 'google.com'), identity('emailAddress', 'ann@example.com')), [
    'password',
    'provider',
  ]);
});

test('the user name is that of an identity, else the principal name', () => {
  const named = { id: ID, mail: 'ann@example.com', identities: [identity('userName', 'ann')] };
  assert.equal(convert(named).userName, 'ann');
  assert.equal(convert({ id: ID, userPrincipalName: 'ann@example.com', identities: [] }).userName, 'ann@example.com');
  assert.equal(
    convert({ id: ID, userPrincipalName: 'a_x#EXT#@y.onmicrosoft.com', mail: 'a@x.com' }).userName,
    undefined,
  );
});

test('an extension attribute becomes metadata, and a disabled account is inactive', () => {
  const person = convert({ id: ID, mail: 'a@example.com', accountEnabled: false, extension_1_Plan: 'gold' });
  assert.deepEqual(person.metadata, { extension_1_Plan: 'gold' });
  assert.equal(person.state, 'inactive');
});

test('the password of a file from which users are created is imported', () => {
  const identities = [identity('emailAddress', 'ann@example.com')];
  assert.equal(convert({ identities, password: 'so so' }).password, 'so so');
  assert.equal(convert({ identities, passwordProfile: { password: 'so la' } }).password, 'so la');
  assert.deepEqual(convert({ identities, password: 'so so' }).metadata, {});
});
