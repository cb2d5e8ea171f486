/** Second factors, recovery codes and passkeys: from the records of each system to the fields of an entry. */
import assert from 'node:assert/strict';
import { createECDH, createHash, createPublicKey } from 'node:crypto';
import { test } from 'node:test';
import { recordConverter } from '../../src/sources/convert.ts';
import { type EntryUser, type Person, toEntry } from '../../src/sources/entry.ts';
import { openFactors } from '../../src/sources/factors.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import type { ExportFormat, Fields } from '../../src/sources/source.ts';

function sourceOf(name: string): ExportFormat {
  const source = SOURCES.find((one) => one.name === name);
  assert.ok(source);
  return source;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest();

/** The public key of a passkey with this name, as COSE; and its credential id. */
function key(name: string) {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(sha256(name));
  const [x, y] = [pair.getPublicKey().subarray(1, 33), pair.getPublicKey().subarray(33)];
  const [head, between] = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from('225820', 'hex')];
  const jwk = { kty: 'EC', crv: 'P-256', x: x.toString('base64url'), y: y.toString('base64url') };
  const spki = createPublicKey({ key: jwk, format: 'jwk' });
  return {
    id: sha256(`id ${name}`),
    cose: Buffer.concat([head, x, between, y]),
    pem: spki.export({ type: 'spki', format: 'pem' }).toString().trim(),
    der: spki.export({ type: 'spki', format: 'der' }),
  };
}

const ANN = key('ann');
const PASSKEY = { credentialId: ANN.id.toString('base64url'), publicKey: ANN.cose.toString('base64url') };
const base64 = (bytes: Buffer) => bytes.toString('base64');
const hex = (bytes: Buffer) => `\\x${bytes.toString('hex')}`;
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const BYTES = '12345678901234567890';
const ADDRESS = 'ann@example.com';

type Found = Partial<EntryUser> & { notes: string[] };

/** What a source makes of the factors of a record. */
function factorsOf(source: string, record: Fields, passkeyRpId?: string): Found {
  const convert = recordConverter({ source: sourceOf(source), orgId: 'acme', options: { passkeyRpId } });
  const { entry, notes, skip } = convert(record);
  assert.ok(entry, skip);
  const { otpCode, totps, recoveryCodes, passkeys, otpEmail, otpSms } = entry.user;
  const ids = notes.map(({ id }) => id).filter((id) => /LOST|WEAK|HOST/.test(id));
  const found = { otpCode, totps, recoveryCodes, passkeys, otpEmail, otpSms, phone: entry.user.phone };
  return { ...Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)), notes: ids };
}

const HOST = 'auth.example.com';

test('Keycloak: keys of both types, and hashes of recovery codes', () => {
  const credential = (type: string, data: Fields, secret: Fields = {}) => ({
    type,
    userLabel: 'Laptop',
    credentialData: JSON.stringify(data),
    secretData: JSON.stringify(secret),
  });
  const data = {
    aaguid: '00000000-0000-0000-0000-000000000000',
    credentialId: base64(ANN.id),
    counter: 7,
    credentialPublicKey: ANN.cose.toString('base64url'),
    attestationStatementFormat: 'none',
    transports: ['internal', 'hybrid'],
  };
  const codes = [{ number: 3, encodedHashedValue: base64(createHash('sha512').update('AB12CD34EF56').digest()) }];
  const codeData = { hashIterations: 1, algorithm: 'RS512', totalCodes: 12, remainingCodes: 1 };
  const record = {
    id: 'b7c1',
    username: 'ann',
    enabled: true,
    credentials: [
      credential('webauthn-passwordless', data),
      credential('webauthn', { ...data, credentialId: base64(key('b').id) }),
      credential('recovery-authn-codes', codeData, { codes }),
    ],
  };
  const passkey = {
    ...PASSKEY,
    signCount: 7,
    userHandle: Buffer.from('b7c1').toString('base64url'),
    transports: ['internal', 'hybrid'],
    name: 'Laptop',
  };
  const found = factorsOf('keycloak', record, HOST);
  assert.deepEqual(found, {
    recoveryCodes: [{ hash: codes[0]?.encodedHashedValue, scheme: 'keycloak-sha512' }],
    passkeys: [
      { ...passkey, rpId: HOST },
      { ...passkey, credentialId: key('b').id.toString('base64url'), secondFactorOnly: true, rpId: HOST },
    ],
    notes: [],
  });
  const policies = { webAuthnPolicyRpId: '', webAuthnPolicyPasswordlessRpId: 'Login.Example.com' };
  const ofRealm = factorsOf('keycloak', { ...record, '@context': { realm: 'acme', ...policies } });
  assert.deepEqual(
    [ofRealm.passkeys?.map(({ rpId }) => rpId), ofRealm.notes],
    [['login.example.com'], ['PASSKEY-HOST-UNKNOWN', 'SECOND-FACTOR-LOST']],
  );
  const hashedTwice = [credential('recovery-authn-codes', { ...codeData, hashIterations: 2 }, { codes })];
  assert.deepEqual(factorsOf('keycloak', { ...record, credentials: hashedTwice }).notes, ['RECOVERY-CODES-LOST']);
});

test('Kratos: passkeys, security keys, and recovery codes that were not used', () => {
  const one = (name: string, more: Fields) => ({
    id: base64(key(name).id),
    public_key: base64(ANN.cose),
    attestation_type: 'none',
    authenticator: { aaguid: 'AAAA', sign_count: 2, clone_warning: false },
    display_name: 'Yubikey',
    added_at: '2024-02-13T10:36:16Z',
    ...more,
  });
  const config = {
    webauthn: { credentials: [one('w', { is_passwordless: false })], user_handle: '51z80nYJTSGmr6UBe1VGLg==' },
    passkey: { credentials: [one('ann', { is_passwordless: true })], user_handle: '51z80nYJTSGmr6UBe1VGLg==' },
    lookup_secret: {
      recovery_codes: [
        { code: 'k3m9x2pq' },
        { code: 'x9m2k3qp', used_at: '2025-01-01T00:00:00Z' },
        { code: 'q7n4v8zt', used_at: '0001-01-01T00:00:00Z' },
      ],
    },
  };
  const credentials = Object.fromEntries(Object.entries(config).map(([kind, one]) => [kind, { config: one }]));
  const record = { id: 'i1', schema_id: 'default', traits: { email: ADDRESS }, credentials };
  const passkey = { signCount: 2, userHandle: '51z80nYJTSGmr6UBe1VGLg', name: 'Yubikey', rpId: HOST };
  assert.deepEqual(factorsOf('kratos', record, HOST), {
    recoveryCodes: ['k3m9x2pq', 'q7n4v8zt'],
    passkeys: [
      { ...PASSKEY, ...passkey, credentialId: key('w').id.toString('base64url'), secondFactorOnly: true },
      { ...PASSKEY, ...passkey },
    ],
    notes: [],
  });
  assert.deepEqual(factorsOf('kratos', record).notes, ['PASSKEY-HOST-UNKNOWN', 'SECOND-FACTOR-LOST']);
});

test('Supabase: several apps, passkeys, security keys, numbers and hashes of recovery codes', () => {
  const hash = '$argon2id$v=19$m=19456,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY';
  const go = { id: base64(key('f').id), publicKey: base64(ANN.cose), authenticator: { signCount: 1 } };
  const record = {
    id: 'u1',
    email: ADDRESS,
    phone: '41791234567',
    phone_confirmed_at: '2026-01-01',
    encrypted_password: '',
    raw_app_meta_data: {},
    factors: JSON.stringify([
      { status: 'verified', factor_type: 'totp', secret: SECRET, friendly_name: 'Phone' },
      { status: 'verified', factor_type: 'totp', secret: 'JBSWY3DPEHPK3PXPAAAA' },
      { status: 'unverified', factor_type: 'totp', secret: 'JBSWY3DPEHPK3PXPBBBB' },
      { status: 'verified', factor_type: 'phone', phone: '41791234567' },
      { status: 'verified', factor_type: 'webauthn', friendly_name: 'Key', web_authn_credential: go },
      { status: 'verified', factor_type: 'recovery_code' },
    ]),
    passkeys: JSON.stringify([
      { credential_id: hex(ANN.id), public_key: hex(ANN.cose), sign_count: 0, transports: ['usb'], backed_up: true },
    ]),
    recovery_codes: JSON.stringify([{ code_hash: hash }, { code_hash: hash, consumed_at: '2026-01-01' }]),
  };
  assert.deepEqual(factorsOf('supabase', record, HOST), {
    totps: [{ secret: SECRET, name: 'Phone' }, { secret: 'JBSWY3DPEHPK3PXPAAAA' }],
    recoveryCodes: [{ hash, scheme: 'mcf' }],
    passkeys: [
      {
        ...PASSKEY,
        credentialId: key('f').id.toString('base64url'),
        signCount: 1,
        name: 'Key',
        secondFactorOnly: true,
        rpId: HOST,
      },
      { ...PASSKEY, signCount: 0, transports: ['usb'], backedUp: true, rpId: HOST },
    ],
    otpSms: true,
    phone: { phone: '+41791234567', isPhoneVerified: true },
    notes: [],
  });
  const other = JSON.stringify([{ status: 'verified', factor_type: 'phone', phone: '41790000000' }]);
  assert.deepEqual(factorsOf('supabase', { ...record, factors: other }, HOST).notes, ['SECOND-FACTOR-LOST']);
});

test('authentik: devices of its tables', () => {
  const devices = [
    { type: 'totp', key: Buffer.from(BYTES).toString('hex'), step: 60, digits: 8, t0: 0, confirmed: true, name: 'App' },
    { type: 'totp', key: Buffer.from(BYTES).toString('hex'), step: 30, digits: 6, t0: 5, confirmed: true },
    { type: 'static', tokens: ['a7Bq29xKwPz4', 'Zt81mmWq02Lp'], confirmed: true },
    {
      type: 'webauthn',
      credential_id: PASSKEY.credentialId,
      public_key: PASSKEY.publicKey,
      sign_count: 4,
      rp_id: HOST,
      confirmed: true,
    },
    { type: 'sms', phone_number: '+41791234567', confirmed: true },
    { type: 'email', email: ADDRESS, confirmed: false },
  ];
  const record = {
    uuid: 'u',
    path: 'users',
    type: 'internal',
    attributes: {},
    username: 'ann',
    email: ADDRESS,
    devices,
  };
  assert.deepEqual(factorsOf('authentik', record), {
    totps: [{ secret: SECRET, digits: 8, period: 60, name: 'App' }],
    recoveryCodes: ['a7Bq29xKwPz4', 'Zt81mmWq02Lp'],
    passkeys: [{ ...PASSKEY, signCount: 4, rpId: HOST }],
    otpSms: true,
    phone: { phone: '+41791234567', isPhoneVerified: true },
    notes: ['SECOND-FACTOR-LOST'],
  });
});

test('Logto and better-auth: passkeys, and codes that were not used', () => {
  const verifications = [
    {
      type: 'WebAuthn',
      credentialId: PASSKEY.credentialId,
      publicKey: PASSKEY.publicKey,
      counter: 1,
      rpId: HOST,
      agent: 'X',
    },
    { type: 'BackupCode', codes: [{ code: '0a1b2c3d4e' }, { code: 'ffeeddccbb', usedAt: '2026-01-01' }] },
  ];
  assert.deepEqual(factorsOf('logto', { id: '1', username: 'ann', mfa_verifications: JSON.stringify(verifications) }), {
    recoveryCodes: ['0a1b2c3d4e'],
    passkeys: [{ ...PASSKEY, signCount: 1, rpId: HOST, name: 'X' }],
    notes: [],
  });
  const row = {
    credentialID: PASSKEY.credentialId,
    publicKey: base64(ANN.cose),
    counter: 0,
    transports: 'internal,hybrid',
  };
  const record = { id: 'b', email: ADDRESS, emailVerified: true, accounts: [], passkeys: [{ ...row, backedUp: true }] };
  assert.deepEqual(factorsOf('better-auth', record, HOST).passkeys, [
    { ...PASSKEY, signCount: 0, transports: ['internal', 'hybrid'], backedUp: true, rpId: HOST },
  ]);
});

test('FusionAuth: apps with parameters, codes by mail and text message, recovery codes, keys as PEM', () => {
  const authenticator = { algorithm: 'HmacSHA256', codeLength: 8, timeStep: 60 };
  const record = {
    id: 'f1',
    active: true,
    insertInstant: 1,
    email: ADDRESS,
    twoFactor: {
      methods: [
        { method: 'authenticator', secret: base64(Buffer.from(BYTES)), authenticator },
        { method: 'email', email: 'Ann@Example.com' },
        { method: 'sms', mobilePhone: '+41791234567' },
      ],
      recoveryCodes: ['VLBC-2PLD-X9QM'],
    },
    webAuthnCredentials: [
      {
        credentialId: PASSKEY.credentialId,
        publicKey: ANN.pem,
        relyingPartyId: HOST,
        signCount: 9,
        transports: ['usb'],
      },
    ],
  };
  assert.deepEqual(factorsOf('fusionauth', record), {
    totps: [{ secret: SECRET, algorithm: 'SHA256', digits: 8, period: 60 }],
    recoveryCodes: ['VLBC-2PLD-X9QM'],
    passkeys: [{ ...PASSKEY, signCount: 9, rpId: HOST, transports: ['usb'] }],
    otpEmail: true,
    otpSms: true,
    phone: { phone: '+41791234567', isPhoneVerified: true },
    notes: [],
  });
});

test('Auth0: authentication methods, and people who sign in by text message', () => {
  const method = (type: string, more: Fields) => ({ id: `${type}|1`, type, confirmed: true, ...more });
  const record = {
    user_id: 'auth0|1',
    email: ADDRESS,
    authentication_methods: [
      method('passkey', {
        key_id: PASSKEY.credentialId,
        public_key: base64(ANN.cose),
        relying_party_identifier: HOST,
        user_handle: 'L6vX',
        credential_backed_up: true,
      }),
      method('webauthn-roaming', { key_id: key('r').id.toString('base64url'), public_key: base64(ANN.cose) }),
      method('phone', { phone_number: '+41791234567' }),
      method('totp', {}),
      method('recovery-code', {}),
    ],
  };
  assert.deepEqual(factorsOf('auth0', record, HOST), {
    passkeys: [
      { ...PASSKEY, rpId: HOST, userHandle: 'L6vX', backedUp: true },
      { ...PASSKEY, credentialId: key('r').id.toString('base64url'), secondFactorOnly: true, rpId: HOST },
    ],
    otpSms: true,
    phone: { phone: '+41791234567', isPhoneVerified: true },
    notes: ['SECOND-FACTOR-LOST', 'RECOVERY-CODES-LOST'],
  });
  const bySms = factorsOf('auth0', { user_id: 'sms|60425dc4', phone_number: '+41791234567', name: '+41791234567' });
  assert.deepEqual(bySms.phone, { phone: '+41791234567', isPhoneVerified: true });
});

test('ASP.NET: recovery codes, passkeys and their host, and codes by mail where there is no app', () => {
  const rpIdHash = sha256('example.com');
  const Data = JSON.stringify({
    PublicKey: base64(ANN.cose),
    Name: 'Phone',
    SignCount: 1,
    Transports: ['internal'],
    IsBackedUp: true,
    AttestationObject: base64(Buffer.concat([Buffer.from('a363666d74', 'hex'), rpIdHash, Buffer.alloc(40)])),
    ClientDataJson: base64(Buffer.from(JSON.stringify({ type: 'webauthn.create', origin: 'https://app.example.com' }))),
  });
  const row = {
    Id: '1',
    UserName: 'ann',
    Email: ADDRESS,
    EmailConfirmed: true,
    PhoneNumberConfirmed: false,
    TwoFactorEnabled: true,
    SecurityStamp: 'x',
    RecoveryCodes: 'KB4VQ-7XRTW;9HJNM-PQ2CD',
    Passkeys: JSON.stringify([{ CredentialId: base64(ANN.id), Data }]),
  };
  const passkeys = [
    { ...PASSKEY, signCount: 1, rpId: 'example.com', transports: ['internal'], name: 'Phone', backedUp: true },
  ];
  const codes = ['KB4VQ-7XRTW', '9HJNM-PQ2CD'];
  assert.deepEqual(factorsOf('aspnet', row), { recoveryCodes: codes, passkeys, otpEmail: true, notes: [] });
  const withApp = factorsOf('aspnet', { ...row, AuthenticatorKey: SECRET });
  assert.deepEqual([withApp.otpCode, withApp.otpEmail], [SECRET, undefined]);
  const { RecoveryCodes: _, ...bare } = row;
  assert.deepEqual(factorsOf('aspnet', bare).notes, ['SECOND-FACTOR-LOST'], 'nobody knows whether there is an app');
});

test('Firebase, Clerk and Cognito: codes by text message and mail', () => {
  const phone = { phone: '+41791234567', isPhoneVerified: true };
  const mfaInfo = [{ mfaEnrollmentId: '1', phoneInfo: '+41791234567', enrolledAt: '2026-01-01T00:00:00Z' }];
  assert.deepEqual(factorsOf('firebase', { localId: '1', email: ADDRESS, mfaInfo }), {
    otpSms: true,
    phone,
    notes: [],
  });
  const onlyPhone = factorsOf('firebase', { localId: '2', phoneNumber: '+41791234567' });
  assert.deepEqual(onlyPhone, { phone, notes: [] });
  const number = {
    id: 'p',
    phone_number: '+41791234567',
    reserved_for_second_factor: true,
    verification: { status: 'verified' },
  };
  const clerk = { id: 'user_1', email_addresses: [], primary_email_address_id: null, phone_numbers: [number] };
  assert.deepEqual(factorsOf('clerk', { ...clerk, two_factor_enabled: true }), { otpSms: true, phone, notes: [] });
  const Attributes = [
    { Name: 'email', Value: ADDRESS },
    { Name: 'phone_number', Value: '+41791234567' },
    { Name: 'phone_number_verified', Value: 'true' },
  ];
  const cognito = { Username: 'ann', Attributes, UserMFASettingList: ['SMS_MFA', 'EMAIL_OTP', 'SOFTWARE_TOKEN_MFA'] };
  assert.deepEqual(factorsOf('cognito', cognito), {
    otpEmail: true,
    otpSms: true,
    phone,
    notes: ['SECOND-FACTOR-LOST'],
  });
});

test('Casdoor: what its table has in plain', () => {
  const Flags = { UserPresent: true, BackupState: true };
  const record = {
    owner: 'acme',
    name: 'ann',
    password_type: 'bcrypt',
    is_forbidden: '0',
    email: ADDRESS,
    totp_secret: SECRET,
    mfa_email_enabled: '1',
    recovery_codes: '["5f3c1e0a-9b7d-4c2e-8a6f-1d2e3f4a5b6c"]',
    webauthnCredentials: [{ ID: base64(ANN.id), PublicKey: base64(ANN.cose), Flags, Authenticator: { SignCount: 2 } }],
  };
  assert.deepEqual(factorsOf('casdoor', record, HOST), {
    otpCode: SECRET,
    recoveryCodes: ['5f3c1e0a-9b7d-4c2e-8a6f-1d2e3f4a5b6c'],
    passkeys: [{ ...PASSKEY, signCount: 2, backedUp: true, rpId: HOST }],
    otpEmail: true,
    notes: [],
  });
});

test('recovery codes in a column of a table', () => {
  const of = (recoveryCodes: string) => {
    const convert = recordConverter({
      source: sourceOf('csv'),
      orgId: 'acme',
      options: { map: { recoveryCodes: 'codes' } },
    });
    const { entry, notes } = convert({ email: ADDRESS, codes: recoveryCodes });
    return [entry?.user.recoveryCodes, notes.map(({ id }) => id).filter((id) => id.startsWith('RECOVERY'))];
  };
  const codes = ['KB4VQ-7XRTW', '9HJNM-PQ2CD'];
  assert.deepEqual(of(JSON.stringify(codes)), [codes, []]);
  assert.deepEqual(of('KB4VQ-7XRTW, 9HJNM-PQ2CD'), [codes, []]);
  const hash = '$P$BQ1fjEVyWQDqCzhgRDhcmEAvMTEzAT0';
  assert.deepEqual(of(hash), [[{ hash, scheme: 'mcf' }], []]);
  assert.deepEqual(of('123456 654321'), [undefined, ['RECOVERY-CODES-WEAK']]);
});

test('keys and ids in all forms that exports have, and none that cannot be one', () => {
  const of = (credentialId: unknown, publicKey: unknown) => {
    const factors = openFactors();
    factors.passkey({ credentialId, publicKey });
    const { passkeys, notes } = factors.fields({});
    return passkeys?.[0] ?? notes.map(({ id }) => id);
  };
  const bytes = (buffer: Buffer) => ({ type: 'Buffer', data: [...buffer] });
  assert.deepEqual(of(base64(ANN.id), base64(ANN.cose)), PASSKEY);
  assert.deepEqual(of(hex(ANN.id), `0x${ANN.cose.toString('hex').toUpperCase()}`), PASSKEY);
  assert.deepEqual(of(bytes(ANN.id), bytes(ANN.cose)), PASSKEY);
  assert.deepEqual(of(PASSKEY.credentialId, base64(ANN.der)), PASSKEY);
  assert.deepEqual(of(PASSKEY.credentialId, ANN.pem), PASSKEY);
  const offCurve = Buffer.from(ANN.cose);
  offCurve.fill(1, 10, 42);
  const none = [undefined, null, '', 'not base64!', 7, {}, [], base64(Buffer.alloc(60, 1))];
  for (const broken of [...none, base64(offCurve), base64(ANN.cose.subarray(0, 50)), '-----BEGIN PUBLIC KEY-----']) {
    assert.deepEqual(of(PASSKEY.credentialId, broken), ['PASSKEY-LOST']);
  }
  for (const broken of [undefined, '', '?', base64(Buffer.alloc(1024))]) {
    assert.deepEqual(of(broken, PASSKEY.publicKey), ['PASSKEY-LOST']);
  }
});

test('an entry has at most ten apps, each key once, and no code that can be guessed', () => {
  const entryOf = (person: Person) => {
    const { entry, notes } = toEntry(
      { email: ADDRESS, emailVerified: true, firstName: 'A', lastName: 'B', ...person },
      'acme',
    );
    return { user: entry.user, lost: entry.oldSignIn?.lost, notes: notes.map(({ id }) => id) };
  };
  const apps = Array.from({ length: 11 }, (_, at) => ({
    secret: `${SECRET.slice(0, -1)}${'ABCDEFGHIJK'[at]}`,
    digits: 8,
  }));
  const many = entryOf({ totps: [...apps, ...apps] });
  assert.deepEqual([many.user.totps?.length, many.notes, many.lost], [10, ['SECOND-FACTOR-LOST'], ['secondFactor']]);
  assert.equal(entryOf({ totps: [{ secret: SECRET }] }).user.otpCode, SECRET);
  const twice = entryOf({
    passkeys: [
      { ...PASSKEY, rpId: HOST },
      { ...PASSKEY, rpId: 'other.example' },
    ],
  });
  assert.deepEqual(twice.user.passkeys, [{ ...PASSKEY, rpId: HOST }]);
  const weak = entryOf({ recoveryCodes: ['123456', 'KB4VQ-7XRTW'] });
  assert.deepEqual(
    [weak.user.recoveryCodes, weak.notes, weak.lost],
    [['KB4VQ-7XRTW'], ['RECOVERY-CODES-WEAK'], ['recoveryCodes']],
  );
  const slow = Array.from({ length: 20 }, () => ({ hash: `$2b$13$${'a'.repeat(53)}`, scheme: 'mcf' }));
  assert.deepEqual(entryOf({ recoveryCodes: slow }).notes, ['RECOVERY-CODES-WEAK']);
  assert.deepEqual(entryOf({ otpSms: true, otpEmail: true }).notes, ['SECOND-FACTOR-LOST']);
});
