import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, readConfig } from '../../src/platform/config.ts';
import { relyingParty } from '../../src/platform/relying-party.ts';

const partyAt = (BASE_URL: string, more = {}) => relyingParty(readConfig({ BASE_URL, ...more }));

test('passkeys belong to the host of the public address, unless a parent domain is set', () => {
  assert.deepEqual(partyAt('https://auth.example.com/muster'), {
    rpId: 'auth.example.com',
    origins: ['https://auth.example.com'],
  });
  assert.equal(partyAt('https://auth.example.com', { WEBAUTHN_RP_ID: 'Example.com' })?.rpId, 'example.com');
  assert.equal(partyAt('https://auth.example.com', { WEBAUTHN_RP_ID: 'auth.example.com' })?.rpId, 'auth.example.com');
  assert.equal(partyAt('http://localhost:8080')?.rpId, 'localhost');
});

test('there are none where browsers have none', () => {
  for (const address of [
    'http://127.0.0.1:8080',
    'https://192.0.2.1',
    'http://[::1]:8080',
    'http://auth.example.com',
  ]) {
    assert.equal(partyAt(address), undefined, address);
  }
});

test('further origins are taken after our own', () => {
  const WEBAUTHN_ORIGINS = 'https://login.example.org, https://auth.example.com,http://localhost:3000';
  assert.deepEqual(partyAt('https://auth.example.com', { WEBAUTHN_ORIGINS })?.origins, [
    'https://auth.example.com',
    'https://login.example.org',
    'http://localhost:3000',
  ]);
});

test('an RP id of another domain, and what is no origin, end the start with a message', () => {
  const refuses = (env: Record<string, string>, message: RegExp) =>
    assert.throws(
      () => readConfig({ BASE_URL: 'https://auth.example.com', ...env }),
      (error: Error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, message);
        return true;
      },
    );
  const RP = /WEBAUTHN_RP_ID: must be auth\.example\.com, the host of BASE_URL, or a parent domain of it/;
  for (const WEBAUTHN_RP_ID of [
    'example.org',
    'com',
    'th.example.com',
    'login.auth.example.com',
    'https://example.com',
  ]) {
    refuses({ WEBAUTHN_RP_ID }, RP);
  }
  for (const WEBAUTHN_ORIGINS of ['example.org', 'https://example.org/', 'http://example.org', 'https://a.example,']) {
    refuses({ WEBAUTHN_ORIGINS }, /WEBAUTHN_ORIGINS\.\d+: must be origins such as/);
  }
});
