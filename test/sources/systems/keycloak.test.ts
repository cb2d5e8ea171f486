import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keycloak } from '../../../src/sources/systems/keycloak.ts';
import { convert, converted, credential, notesOf, pbkdf2, personOf } from './converted.ts';

describe('Keycloak: a user', () => {
  it('of a realm export is converted with all its fields', () => {
    const person = converted({
      id: '826731b2-bf17-4bd9-b45c-6a26c76ddaae',
      createdTimestamp: 1693887631918,
      username: 'ann',
      enabled: true,
      totp: false,
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Arbor',
      email: 'ann@example.com',
      attributes: {
        locale: ['de'],
        nickname: ['annie'],
        gender: ['female'],
        phoneNumber: ['+41791234567'],
        phoneNumberVerified: ['true'],
        department: ['Sales'],
        badges: ['blue', 'red'],
        groups: ['by attribute'],
        old: 'bare',
        nothing: [],
      },
      credentials: [],
      requiredActions: ['VERIFY_EMAIL'],
      realmRoles: ['staff'],
      clientRoles: { account: ['view-profile'] },
      applicationRoles: { shop: ['buyer'] },
      groups: ['/staff/sales'],
      federatedIdentities: [{ identityProvider: 'google', userId: '42', userName: 'ann.a' }, { identityProvider: 'x' }],
      notBefore: 0,
      access: { manage: true },
    });
    assert.deepEqual(person, {
      userId: '826731b2-bf17-4bd9-b45c-6a26c76ddaae',
      userName: 'ann',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Arbor',
      nickName: 'annie',
      gender: 'GENDER_FEMALE',
      language: 'de',
      phone: '+41791234567',
      phoneVerified: true,
      state: 'active',
      passwordChangeRequired: false,
      metadata: {
        realmRoles: ['staff'],
        clientRoles: { account: ['view-profile'] },
        applicationRoles: { shop: ['buyer'] },
        groups: ['/staff/sales'],
        gender: 'female',
        department: 'Sales',
        badges: ['blue', 'red'],
        'attributes.groups': 'by attribute',
        old: 'bare',
      },
      links: [{ provider: 'google', externalUserId: '42', displayName: 'ann.a' }],
      oldSignIn: { ways: ['provider'] },
      notes: [],
    });
  });

  it('is inactive unless it is enabled, as in Keycloak', () => {
    assert.equal(personOf({ enabled: true }).state, 'active');
    assert.equal(personOf({ enabled: false }).state, 'inactive');
    assert.equal(personOf({ enabled: undefined }).state, 'inactive');
  });

  it('has no fields that the export does not contain', () => {
    assert.equal(personOf({ email: 'ann@example.com' }).emailVerified, undefined);
    assert.equal(personOf({ emailVerified: false }).emailVerified, false);
  });

  it('must change the password with UPDATE_PASSWORD; other actions are noted', () => {
    assert.equal(personOf({ requiredActions: ['UPDATE_PASSWORD'] }).passwordChangeRequired, true);
    assert.deepEqual(notesOf({ requiredActions: ['UPDATE_PASSWORD', 'VERIFY_EMAIL'] }), []);
    assert.deepEqual(notesOf({ requiredActions: ['CONFIGURE_TOTP', 5] }), ['REQUIRED-ACTION-DROPPED']);
  });

  it('is skipped if it is a service account or a realm', () => {
    assert.ok('skip' in convert({ username: 'service-account-shop', serviceAccountClientId: 'shop', enabled: true }));
    assert.ok('skip' in convert({ realm: 'acme', users: [] }));
  });

  it('with a password in another system is noted', () => {
    assert.deepEqual(notesOf({ federationLink: 'x', credentials: [] }), ['PASSWORD-NOT-EXPORTED']);
    const password = credential({ algorithm: 'pbkdf2-sha256', hashIterations: 1000 }, pbkdf2('sha256', 32));
    assert.deepEqual(notesOf({ federationLink: 'x', credentials: [password] }), []);
  });
});

describe('Keycloak: anything else', () => {
  it('never throws', () => {
    const junk = [null, 5, 'x', [], {}, [null, 5, 'x', [], {}]];
    const keys = ['username', 'credentials', 'attributes', 'requiredActions', 'federatedIdentities', 'realmRoles'];
    for (const key of keys)
      for (const value of junk) assert.doesNotThrow(() => convert({ username: 'ann', [key]: value }));
    for (const value of junk) {
      const texts = {
        secretData: JSON.stringify(value),
        credentialData: JSON.stringify(value),
        hashedSaltedValue: value,
      };
      for (const type of ['password', 'otp', 5])
        assert.doesNotThrow(() => convert({ username: 'a', credentials: [{ type, ...texts }] }));
    }
  });

  it('is not recognized as a user of Keycloak', () => {
    assert.equal(keycloak.recognizes({ id: '1', username: 'ann', email: 'ann@example.com' }, 'json'), 0);
    assert.equal(keycloak.recognizes({ id: '1', credentials: { password: {} } }, 'json'), 0);
    assert.equal(keycloak.recognizes({ username: 'ann', enabled: true, requiredActions: [] }, 'json'), 0.8);
    assert.equal(keycloak.recognizes({ username: 'ann', createdTimestamp: 1 }, 'json'), 1);
  });

  it('is recognized inside a realm, even with only a name or an address', () => {
    const inRealm = { '@context': { realm: 'acme' } };
    assert.equal(keycloak.recognizes({ username: 'ann', email: 'ann@example.com', ...inRealm }, 'json'), 0.9);
    assert.equal(keycloak.recognizes({ email: 'ann@example.com', ...inRealm }, 'json'), 0.9);
    assert.equal(keycloak.recognizes({ name: 'a role', ...inRealm }, 'json'), 0);
  });
});
