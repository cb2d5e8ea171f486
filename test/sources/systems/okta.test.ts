/** Users of Okta: from its API and CSV files, and hashes in the form of its API. */
import assert from 'node:assert/strict';
import { hash, pbkdf2Sync } from 'node:crypto';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import type { Fields } from '../../../src/sources/source.ts';
import { okta } from '../../../src/sources/systems/okta.ts';
import { assertRefused, assertVerifies, noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(okta, record);

const PASSWORD = 'correct hörse';
const SALT = Buffer.from('0123456789abcdef');
const ANN = { login: 'ann@example.com', email: 'ann@example.com', firstName: 'Ann', lastName: 'Archer' };

const hashed = (parts: Fields) => convert({ profile: ANN, credentials: { password: { hash: parts } } });

describe('a user of Okta', () => {
  it('is converted to fields, with all other attributes as metadata', () => {
    const person = convert({
      id: '00u1',
      status: 'ACTIVE',
      created: '2023-09-01T08:00:00.000Z',
      lastLogin: null,
      type: { id: 'oty1' },
      profile: {
        ...ANN,
        login: 'annie',
        displayName: 'Ann A.',
        nickName: 'annie',
        mobilePhone: '+41 79 123 45 67',
        primaryPhone: '044',
        preferredLanguage: 'de-CH',
        locale: 'de_CH',
        secondEmail: null,
        badgeNumbers: [17, 18],
      },
      credentials: {
        password: {},
        emails: [{ value: 'ann@example.com', status: 'VERIFIED', type: 'PRIMARY' }],
        recovery_question: { question: 'Where?' },
        provider: { type: 'OKTA', name: 'OKTA' },
      },
      _links: { self: { href: 'https://example.okta.com' } },
    });
    const { metadata, ...rest } = person;
    assert.deepEqual(rest, {
      userId: '00u1',
      userName: 'annie',
      email: 'ann@example.com',
      firstName: 'Ann',
      lastName: 'Archer',
      displayName: 'Ann A.',
      nickName: 'annie',
      language: 'de-CH',
      phone: '+41 79 123 45 67',
      notes: [],
    });
    const { secondEmail, 'credentials.provider': provider, ...kept } = metadata ?? {};
    assert.deepEqual([secondEmail, provider], [null, undefined]);
    assert.deepEqual(kept, { primaryPhone: '044', locale: 'de_CH', badgeNumbers: [17, 18] });
  });

  it('never has a verified address, because Okta says VERIFIED even for users it has never seen', () => {
    const emails = (status: string) => [{ value: 'Ann@Example.com', status, type: 'PRIMARY' }];
    const verifiedOf = (status: string) =>
      convert({ profile: ANN, credentials: { emails: emails(status) } }).emailVerified;
    assert.equal(verifiedOf('VERIFIED'), undefined);
    assert.equal(verifiedOf('UNVERIFIED'), false);
    const second = [{ value: 'ann@example.com', status: 'UNVERIFIED', type: 'SECONDARY' }];
    assert.equal(convert({ profile: ANN, credentials: { emails: second } }).emailVerified, undefined);
  });

  it('has the state that corresponds to its status', () => {
    const states = {
      ACTIVE: undefined,
      PROVISIONED: undefined,
      RECOVERY: undefined,
      PASSWORD_EXPIRED: undefined,
      LOCKED_OUT: 'locked',
      STAGED: 'inactive',
      SUSPENDED: 'inactive',
      DEPROVISIONED: 'inactive',
    };
    for (const [status, state] of Object.entries(states)) {
      const person = convert({ id: '00u1', status, profile: ANN });
      assert.equal(person.state, state, status);
      const mustChange = status === 'PASSWORD_EXPIRED' || status === 'RECOVERY';
      assert.equal(person.passwordChangeRequired, mustChange || undefined, status);
      assert.deepEqual(noteIds(person), status === 'STAGED' ? ['OKTA-STAGED'] : [], status);
    }
  });

  it('falls back to the primary phone and to the locale', () => {
    const person = convert({ profile: { ...ANN, mobilePhone: null, primaryPhone: '044 668 18 00', locale: 'fr_FR' } });
    assert.deepEqual([person.phone, person.language], ['044 668 18 00', 'fr_FR']);
  });

  it('with a password in another system has a note, and keeps the provider that checks it', () => {
    const provider = { type: 'ACTIVE_DIRECTORY', name: 'corp.example.com' };
    const person = convert({ profile: ANN, credentials: { provider } });
    assert.deepEqual(noteIds(person), ['OKTA-PASSWORD-ELSEWHERE']);
    assert.deepEqual(person.metadata?.['credentials.provider'], provider);
  });

  it('with wrong types does not throw', () => {
    const broken = {
      id: [],
      status: 7,
      profile: 'none',
      credentials: { password: { hash: 'x' }, emails: {}, provider: [] },
    };
    assert.deepEqual(noteIds(convert(broken)), ['STATE-UNKNOWN']);
    assert.deepEqual(convert({ profile: ANN, credentials: { emails: [null, 7] } }).notes, []);
  });
});

describe('a CSV row of Okta', () => {
  it('has the columns of the import template, and others as metadata', () => {
    const row = {
      ...ANN,
      middleName: '',
      secondEmail: 'ann@example.org',
      mobilePhone: '',
      primaryPhone: '+41',
      'Badge No': '17',
    };
    const { metadata, ...person } = convert(row);
    assert.deepEqual(person, {
      userName: 'ann@example.com',
      email: 'ann@example.com',
      firstName: 'Ann',
      lastName: 'Archer',
      phone: '+41',
      notes: [],
    });
    assert.equal(metadata?.secondEmail, 'ann@example.org');
    assert.equal(metadata?.['Badge No'], '17');
    assert.equal(okta.recognizes(row, 'csv'), 1);
  });

  it("may have the API's paths and the console's words", () => {
    const row = {
      id: '00u1',
      status: 'ACTIVE',
      'profile.login': 'ann',
      'profile.email': 'ann@example.com',
      'profile.shift': 'b',
    };
    const flat = convert(row);
    assert.deepEqual([flat.userId, flat.userName, flat.metadata?.shift], ['00u1', 'ann', 'b']);
    assert.equal(okta.recognizes(row, 'csv'), 1);
    const report = {
      'Okta username': 'ann',
      'First name': 'Ann',
      'Primary email': 'ann@example.com',
      'Okta user status': '',
    };
    const statuses = {
      'Pending user action': undefined,
      Deactivated: 'inactive',
      'Locked out': 'locked',
      Suspended: 'inactive',
    };
    for (const [status, state] of Object.entries(statuses)) {
      const person = convert({ ...report, 'Okta user status': status });
      assert.equal(person.state, state, status);
      assert.deepEqual([person.userName, person.firstName, person.email], ['ann', 'Ann', 'ann@example.com']);
    }
    assert.equal(convert({ ...report, 'Okta user status': 'Password reset' }).passwordChangeRequired, true);
    assert.equal(okta.recognizes(report, 'csv'), 1);
  });
});

describe('a hash for Okta', () => {
  it('in parts of bcrypt verifies, also with a cost of one digit', () => {
    const text = bcrypt.hashSync(PASSWORD, 4);
    const parts = { algorithm: 'BCRYPT', workFactor: 4, salt: text.slice(7, 29), value: text.slice(29) };
    assertVerifies(hashed(parts).hash, PASSWORD);
    assertVerifies(hashed({ algorithm: 'BCRYPT', value: text }).hash, PASSWORD);
  });

  it('of one digest verifies with the salt in the stated order', () => {
    for (const [algorithm, name] of Object.entries({
      MD5: 'md5',
      'SHA-1': 'sha1',
      'SHA-256': 'sha256',
      'SHA-512': 'sha512',
    })) {
      const salt = SALT.toString('base64');
      const value = (...parts: (string | Buffer)[]) =>
        hash(name, Buffer.concat(parts.map((part) => Buffer.from(part))), 'buffer').toString('base64');
      assertVerifies(hashed({ algorithm, salt, saltOrder: 'PREFIX', value: value(SALT, PASSWORD) }).hash, PASSWORD);
      assertVerifies(hashed({ algorithm, salt, saltOrder: 'POSTFIX', value: value(PASSWORD, SALT) }).hash, PASSWORD);
      assertVerifies(hashed({ algorithm, value: value(PASSWORD) }).hash, PASSWORD);
    }
  });

  it('in PBKDF2 verifies', () => {
    for (const digest of ['sha256', 'sha512']) {
      const value = pbkdf2Sync(PASSWORD, SALT, 4096, 32, digest).toString('base64');
      const parts = { algorithm: 'PBKDF2', iterationCount: 4096, keySize: 32, salt: SALT.toString('base64'), value };
      assertVerifies(hashed({ ...parts, digestAlgorithm: `${digest.toUpperCase()}_HMAC` }).hash, PASSWORD);
    }
  });

  it('that cannot be verified is rejected by name', () => {
    const value = 'AAAAAAAAAAAAAAAAAAAAAA==';
    assertRefused(hashed({ algorithm: 'SSHA-3', value }), '$ssha-3$');
    assertRefused(hashed({ algorithm: 'SHA-256', salt: 'c2FsdA==', value }), '$sha-256$');
    assertRefused(hashed({ algorithm: 'MD5', value: '§' }), '$md5$');
    assertRefused(hashed({ algorithm: 'BCRYPT', value }), '$bcrypt$');
    assertRefused(hashed({ algorithm: 'BCRYPT' }), '$bcrypt$');
    assertRefused(hashed({ algorithm: 'PBKDF2', digestAlgorithm: 'MD5_HMAC', iterationCount: 1, value }), '$pbkdf2$');
  });

  it('is absent in exports of Okta; a plain password is imported', () => {
    assert.equal(convert({ profile: ANN, credentials: { password: {} } }).hash, undefined);
    const plain = convert({ profile: ANN, credentials: { password: { value: PASSWORD } } });
    assert.deepEqual([plain.hash, plain.password], [undefined, PASSWORD]);
  });
});

describe('a record of Okta', () => {
  it('is recognized, and others are not', () => {
    assert.equal(okta.recognizes({ id: '00u1', status: 'ACTIVE', profile: ANN }, 'json'), 1);
    assert.equal(okta.recognizes({ profile: ANN, credentials: {} }, 'ndjson'), 1);
    const others = [
      { id: '1', profile: { firstName: 'Ann' } },
      { login: 'ann', email: 'ann@example.com', firstName: 'Ann' },
      { username: 'ann', email: 'ann@example.com' },
      { id: '1', status: 'ACTIVE' },
      {},
    ];
    for (const record of others) assert.equal(okta.recognizes(record, 'csv'), 0);
  });
});

describe('what is joined to a user of Okta', () => {
  const user = { id: '00u1', status: 'ACTIVE', profile: ANN };

  it('tells factors and passkeys that are set up', () => {
    const factor = (factorType: string, status = 'ACTIVE') => ({ id: 'f1', factorType, status });
    const notesOf = (...factors: Fields[]) => noteIds(convert({ ...user, factors }));
    assert.deepEqual(notesOf(), []);
    assert.deepEqual(notesOf(factor('token:software:totp')), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf(factor('webauthn')), ['PASSKEY-LOST']);
    assert.deepEqual(notesOf(factor('webauthn'), factor('sms')), ['PASSKEY-LOST', 'SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf(factor('sms', 'PENDING_ACTIVATION')), []);
  });

  it('becomes links and ways, social or of a company', () => {
    const link = (provider: string, type: string) => ({ provider, type, externalId: '77' });
    const { links, oldSignIn } = convert({ ...user, links: [link('Google', 'GOOGLE'), link('Acme', 'SAML2')] });
    assert.deepEqual(links, [
      { provider: 'Google', externalUserId: '77' },
      { provider: 'Acme', externalUserId: '77' },
    ]);
    assert.deepEqual(oldSignIn?.ways, ['provider', 'enterprise']);
    assert.deepEqual(convert({ ...user, links: [link('Acme', 'OIDC')] }).oldSignIn?.ways, ['enterprise']);
    const elsewhere = (type: string) => convert({ ...user, credentials: { provider: { type } } }).oldSignIn?.ways;
    assert.deepEqual(elsewhere('ACTIVE_DIRECTORY'), ['enterprise']);
    assert.deepEqual(elsewhere('SOCIAL'), ['provider']);
    assert.equal(elsewhere('OKTA'), undefined);
  });

  it('becomes groups', () => {
    const groups = [{ id: '00g1', profile: { name: 'Staff' } }];
    assert.deepEqual(convert({ ...user, groups }).metadata?.groups, ['Staff']);
  });
});
