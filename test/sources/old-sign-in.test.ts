/** How users signed in to the other system, as the export says it; and what files of a system lack, said once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordConverter } from '../../src/sources/convert.ts';
import type { OldSignIn } from '../../src/sources/entry.ts';
import { isOfCompany, oldSignInOf } from '../../src/sources/old-sign-in.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import type { ExportFormat, Fields } from '../../src/sources/source.ts';
import { openCounter } from '../../src/sources/summary.ts';

const BCRYPT = '$2b$04$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234';
const ADDRESS = { email: 'ann@example.com' };

function sourceOf(name: string): ExportFormat {
  return SOURCES.find((source) => source.name === name) ?? assert.fail(`no source ${name}`);
}

/** Users of one way, or of ways that tell them from users of a password. */
const USERS: [source: string, user: Fields, expected: OldSignIn | undefined][] = [
  ['auth0', { user_id: 'auth0|1', ...ADDRESS, passwordHash: BCRYPT }, undefined],
  ['auth0', { user_id: 'email|1', ...ADDRESS }, { ways: ['mailCode'] }],
  ['auth0', { user_id: 'sms|1', phone_number: '+41791234567' }, { ways: ['sms'] }],
  ['auth0', { user_id: 'google-oauth2|1', ...ADDRESS }, { ways: ['provider'] }],
  ['auth0', { user_id: 'samlp|acme|1', ...ADDRESS }, { ways: ['enterprise'] }],
  [
    'auth0',
    { user_id: 'auth0|1', ...ADDRESS, authentication_methods: [{ type: 'passkey', confirmed: true }] },
    { ways: ['password', 'passkey'], lost: ['passkey'] },
  ],
  ['clerk', { id: 'user_1', external_accounts: [{ provider: 'oauth_google' }] }, { ways: ['provider'] }],
  ['clerk', { id: 'user_1', saml_accounts: [{ provider: 'saml_okta' }] }, { ways: ['enterprise'] }],
  ['clerk', { id: 'user_1', primary_email_address: 'ann@example.com' }, { ways: ['mailCode'] }],
  [
    'clerk',
    { id: 'user_1', passkeys: [{}], totp_secret: 'JBSWY3DPEHPK3PXP', backup_code_enabled: true },
    { ways: ['passkey'], lost: ['passkey', 'recoveryCodes'] },
  ],
  ['firebase', { localId: '1', ...ADDRESS, emailLinkSignin: true }, { ways: ['mailCode'] }],
  ['firebase', { localId: '1', phoneNumber: '+41791234567' }, { ways: ['sms'] }],
  ['firebase', { localId: '1', providerUserInfo: [{ providerId: 'saml.acme', rawId: 'a' }] }, { ways: ['enterprise'] }],
  [
    'cognito',
    {
      Username: 'acme_7',
      UserStatus: 'EXTERNAL_PROVIDER',
      Attributes: [{ Name: 'identities', Value: '[{"userId":"7","providerName":"acme","providerType":"SAML"}]' }],
    },
    { ways: ['enterprise'] },
  ],
  ['authjs', { id: '1', ...ADDRESS, accounts: [] }, { ways: ['mailCode'] }],
  ['better-auth', { id: '1', ...ADDRESS, accounts: [] }, { ways: ['mailCode'] }],
  ['casdoor', { id: '1', name: 'ann', ldap: 'uid-7' }, { ways: ['enterprise'] }],
  ['descope', { userId: '1', loginIds: ['ann'], SAML: true, ...ADDRESS }, { ways: ['enterprise'] }],
  [
    'devise',
    { id: 1, ...ADDRESS, encrypted_password: BCRYPT, provider: 'google_oauth2', uid: '1042' },
    { ways: ['password', 'provider'], password: 'perhaps' },
  ],
  ['devise', { id: 1, ...ADDRESS, encrypted_password: BCRYPT, provider: 'email', uid: 'ann@example.com' }, undefined],
  [
    'entra',
    { id: '1', identities: [{ signInType: 'federated', issuer: 'https://sts.acme.example', issuerAssignedId: '7' }] },
    { ways: ['enterprise'] },
  ],
  ['frontegg', { id: '1', ...ADDRESS, provider: 'saml' }, { ways: ['enterprise'] }],
  [
    'fusionauth',
    {
      id: '1',
      active: true,
      identityProviderLinks: [
        { identityProviderType: 'SAMLv2', identityProviderName: 'Acme', identityProviderUserId: '7' },
      ],
    },
    { ways: ['enterprise'] },
  ],
];

for (const [name, user, expected] of USERS) {
  test(`${name}: ${JSON.stringify(user).replace(BCRYPT, '…').slice(0, 120)}`, () => {
    const { entry } = recordConverter({ source: sourceOf(name), orgId: 'acme', options: {} })(user);
    assert.ok(entry);
    assert.deepEqual(entry.oldSignIn, expected);
  });
}

test('a connection of a company is told from a provider for everybody by its name', () => {
  for (const name of ['saml.acme', 'oidc.acme', 'samlp', 'waad', 'saml_okta', 'SAML', 'OpenIdConnect', 'ldap'])
    assert.ok(isOfCompany(name), name);
  for (const name of ['google.com', 'google-oauth2', 'samsung', 'apple', 'oauth_github', 'adobe', 'kakao'])
    assert.ok(!isOfCompany(name), name);
});

test('what no record of the files has is said once, and what one of them has is not', () => {
  const source = sourceOf('auth0');
  const convert = recordConverter({ source, orgId: 'acme', options: {} });
  const lackedBy = (users: readonly Fields[]) => {
    const counter = openCounter({ source });
    for (const [i, user] of users.entries()) counter.add({ file: 'users.ndjson', line: i + 1, ...convert(user) });
    return counter.summary(0).missing.map(({ id }) => id);
  };
  const plain = { user_id: 'auth0|1', ...ADDRESS };
  const all = ['AUTH0-PASSWORDS', 'AUTH0-AUTHENTICATION-METHODS', 'AUTH0-IDENTITIES', 'AUTH0-ROLES'];
  assert.deepEqual(lackedBy([plain, plain]), all);
  assert.deepEqual(lackedBy([plain, { ...plain, authentication_methods: [], passwordHash: BCRYPT }]), all.slice(2));
  assert.deepEqual(lackedBy([]), []);
  assert.deepEqual(openCounter().summary(0).missing, []);
});

test('every thing that is lacked has an id of its own, a sentence, and what to do', () => {
  const lacked = SOURCES.flatMap(({ name, missing = [] }) => missing.map((one) => ({ name, ...one })));
  for (const { name, id, message, remedy } of lacked) {
    assert.ok(id.startsWith(`${name.toUpperCase()}-`) && /^[A-Z0-9-]+$/.test(id), id);
    assert.match(message, /^[A-Z`].*\.$/, id);
    assert.match(remedy, /^[A-Z`].*\.$/, id);
  }
  assert.equal(new Set(lacked.map(({ id }) => id)).size, lacked.length);
});

test('a password that the user knows, and nothing else, is not said', () => {
  assert.equal(oldSignInOf({}), undefined);
  assert.equal(oldSignInOf({ password: true, links: [] }), undefined);
  assert.deepEqual(oldSignInOf({ password: true, mailCode: true }), { ways: ['password', 'mailCode'] });
  assert.deepEqual(oldSignInOf({ password: true }, 'perhaps'), { password: 'perhaps' });
});

test('links count as providers, or as connections of companies if their names say so', () => {
  const link = (provider: string) => ({ provider, externalUserId: '1' });
  assert.deepEqual(oldSignInOf({ links: [link('google'), link('sso:7f')] }), { ways: ['provider', 'enterprise'] });
});

test('--unknown-passwords decides about passwords that users perhaps do not know', () => {
  const record = { id: 'u1', ...ADDRESS, encrypted_password: '$2a$10$x', email_confirmed_at: '' };
  const converted = (unknownPasswords?: 'keep' | 'drop') =>
    recordConverter({ source: sourceOf('supabase'), orgId: 'acme', options: { unknownPasswords } })(record);
  const of = ({ entry, notes }: ReturnType<typeof converted>) => ({
    hash: entry?.user.hashedPassword?.value,
    password: entry?.oldSignIn?.password,
    notes: notes.map(({ id }) => id).filter((id) => id.startsWith('PASSWORD')),
  });
  assert.deepEqual(of(converted()), { hash: '$2a$10$x', password: 'perhaps', notes: ['PASSWORD-PERHAPS-UNKNOWN'] });
  assert.deepEqual(of(converted('keep')), { hash: '$2a$10$x', password: undefined, notes: [] });
  assert.deepEqual(of(converted('drop')), { hash: undefined, password: 'unknown', notes: ['PASSWORD-UNKNOWN'] });
});
