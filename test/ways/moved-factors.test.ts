/**
 * Second factors and recovery codes of an old system still do after the move: exports in the systems' own form are
 * imported by the command line, then their users sign in over HTTP.
 */
import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { errorId } from '../support/answers.ts';
import type { TestOrg } from '../support/calls.ts';
import { runMuster } from '../support/processes/muster.ts';
import { base32, codeAt, type Parameters } from '../support/totp.ts';
import { openStage, type Stage } from './stage.ts';

const PASSWORD = 'correct horse';
/** The key of all apps: Keycloak keeps it as a text whose bytes it is. */
const KEY = 'Wq3kL9vTz7RbN2xYp5Md';
const SECRET = base32(Buffer.from(KEY));

/** Imports the records; returns what opens a session of a user there, whose user name is their address. */
async function moved(t: TestContext, stage: Stage, source: string, records: unknown) {
  const org: TestOrg = await stage.newOrg();
  const folder = await mkdtemp(join(tmpdir(), 'muster-factors-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'users.json');
  await writeFile(file, JSON.stringify(records));
  const args = ['import', file, '--from', source, '--org', org.orgId, '--timeout', '10m', '--watch', '--mails', 'none'];
  const env = { MUSTER_URL: stage.url, MUSTER_TOKEN: org.ownerToken };
  const { code, stdout, stderr } = await runMuster([...args, '--json'], { env });
  assert.equal(code, 0, stdout + stderr);
  assert.ok(!/LOST|WEAK/.test(stdout), stdout);
  return async (loginName: string, factor: object) => {
    const checks = { user: { loginName }, password: { password: PASSWORD }, ...factor };
    const options = { token: org.ownerToken, orgId: org.orgId };
    const { status, body } = await stage.call('POST', '/v2beta/sessions', { checks }, options);
    return { status, body, error: errorId({ status, body } as never) };
  };
}

test('an app of Keycloak with SHA-256, 8 digits and 60 s', async (t) => {
  const stage = await openStage(t);
  const address = 'kim@factors.example.com';
  const salt = Buffer.from('a salt of 16 byt');
  const value = pbkdf2Sync(PASSWORD, salt, 1000, 32, 'sha256').toString('base64');
  const credentials = [
    {
      type: 'password',
      secretData: JSON.stringify({ value, salt: salt.toString('base64'), additionalParameters: {} }),
      credentialData: JSON.stringify({ hashIterations: 1000, algorithm: 'pbkdf2-sha256', additionalParameters: {} }),
    },
    {
      ...{ type: 'otp', userLabel: 'Phone', secretData: JSON.stringify({ value: KEY }) },
      credentialData: JSON.stringify({ subType: 'totp', digits: 8, counter: 0, period: 60, algorithm: 'HmacSHA256' }),
    },
  ];
  const user = { id: 'kim', username: address, email: address, emailVerified: true, enabled: true };
  const opens = await moved(t, stage, 'keycloak', {
    ...{ realm: 'acme', enabled: true },
    users: [{ ...user, firstName: 'Kim', lastName: 'Example', credentials }],
  });
  const parameters: Parameters = { algorithm: 'SHA256', digits: 8, periodS: 60 };
  assert.equal((await opens(address, {})).error, 'SESSION-TOTP-REQUIRED');
  for (const other of [{}, { ...parameters, algorithm: 'SHA1' as const }, { ...parameters, periodS: 30 }]) {
    assert.notEqual((await opens(address, { totp: { code: codeAt(SECRET, Date.now(), other) } })).status, 201);
  }
  const { status, body } = await opens(address, { totp: { code: codeAt(SECRET, Date.now(), parameters) } });
  assert.equal(status, 201, JSON.stringify(body));
});

const CODES = ['k3m9x2pq7v', 'x9m2k3qp4w'];

test('recovery codes of Kratos and of Logto, each of them once', async (t) => {
  const stage = await openStage(t);
  const hash = await stage.api.deps.hasher.hash(PASSWORD);
  const address = 'lou@factors.example.com';
  const kratos = {
    ...{ id: 'lou-of-kratos', schema_id: 'default', state: 'active', traits: { email: address } },
    verifiable_addresses: [{ value: address, verified: true, via: 'email', status: 'completed' }],
    credentials: {
      password: { type: 'password', identifiers: [address], config: { hashed_password: hash } },
      totp: { type: 'totp', config: { totp_url: `otpauth://totp/Acme:lou?secret=${SECRET}&issuer=Acme` } },
      lookup_secret: {
        type: 'lookup_secret',
        config: {
          recovery_codes: [
            ...CODES.map((code) => ({ code, used_at: '0001-01-01T00:00:00Z' })),
            { code: 'q7n4v8zt2k', used_at: '2026-01-01T00:00:00Z' },
          ],
        },
      },
    },
  };
  const logto = {
    ...{ id: 'lou-of-logto', username: null, primary_email: address, name: 'Lou', is_suspended: false },
    ...{ identities: {}, custom_data: {}, password_encrypted: hash, password_encryption_method: 'Bcrypt' },
    mfa_verifications: [
      { type: 'Totp', key: SECRET, id: 't', createdAt: '2026-01-01T00:00:00Z' },
      {
        ...{ type: 'BackupCode', id: 'b', createdAt: '2026-01-01T00:00:00Z' },
        codes: [...CODES.map((code) => ({ code })), { code: 'q7n4v8zt2k', usedAt: '2026-01-01T00:00:00Z' }],
      },
    ],
  };
  for (const [source, record] of Object.entries({ kratos, logto })) {
    await t.test(source, async () => {
      const opens = await moved(t, stage, source, [record]);
      const [first = '', second = ''] = CODES;
      const by = (code: string) => opens(address, { recoveryCode: { code } });
      assert.equal((await opens(address, {})).error, 'SESSION-TOTP-REQUIRED');
      assert.notEqual((await by('q7n4v8zt2k')).status, 201, 'used in the old system');
      const opened = await by(first.toUpperCase());
      assert.equal(opened.status, 201, JSON.stringify(opened.body));
      assert.notEqual((await by(first)).status, 201, 'a second time');
      assert.equal((await by(second)).status, 201);
    });
  }
});
