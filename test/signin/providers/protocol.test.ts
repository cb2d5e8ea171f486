/**
 * What a provider may not say, and how it may not answer (T11, T12): each lie and each fault ends without an identity,
 * over HTTP, and the address guard holds for discovery, keys, tokens and `userinfo`.
 */
import assert from 'node:assert/strict';
import type { LookupAllOptions, lookup as systemLookup } from 'node:dns';
import { after, afterEach, before, test } from 'node:test';
import { authorizationUrl, identityOf, type ProtocolDeps } from '../../../src/signin/providers/protocol.ts';
import type { Idp } from '../../../src/signin/providers/store.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import {
  type Endpoint,
  type Fault,
  type Misbehaviour,
  startProvider,
  type TestProvider,
} from '../../support/providers.ts';
import { addIdp, visit } from './visit.ts';

const PEOPLE = [{ login: 'ann', id: '1097', claims: { email: 'ann@acme.example', email_verified: true } }];

let api: TestApi;
let google: TestProvider;
let github: TestProvider;
let idp: Idp;
let ofGithub: Idp;

before(async () => {
  api = await startApi({ env: { IDP_ALLOW_PRIVATE: 'true' } });
  google = await startProvider({ kind: 'google', people: PEOPLE });
  github = await startProvider({ kind: 'github', people: PEOPLE });
  [idp, ofGithub] = [await addIdp(api, google), await addIdp(api, github)];
});
after(async () => {
  await Promise.all([google.stop(), github.stop()]);
  await api.stop();
});
afterEach(() => {
  google.misbehave = { faults: {} };
  github.misbehave = { faults: {} };
});

const now = () => Math.floor(Date.now() / 1000);

/** T11, by what the ID token of `POST /token` is like. */
const LIES: Record<string, () => Partial<Misbehaviour>> = {
  'alg none': () => ({ signing: 'none' }),
  'HS256 with the public key': () => ({ signing: 'HS256' }),
  'a key that is not published, under the id of one that is': () => ({ signing: 'other-key' }),
  'another issuer': () => ({ claims: { iss: 'https://attacker.example' } }),
  'another audience': () => ({ claims: { aud: 'another-client' } }),
  'no audience': () => ({ claims: { aud: undefined } }),
  'two audiences without azp': () => ({ claims: { aud: [google.clientId, 'another-client'] } }),
  'two audiences and another azp': () => ({ claims: { aud: [google.clientId, 'x'], azp: 'x' } }),
  'another azp': () => ({ claims: { azp: 'another-client' } }),
  expired: () => ({ claims: { exp: now() - 120, iat: now() - 600 } }),
  'not yet valid': () => ({ claims: { nbf: now() + 600 } }),
  'no expiry': () => ({ claims: { exp: undefined } }),
  'another nonce': () => ({ claims: { nonce: 'of another visit' } }),
  'no nonce': () => ({ claims: { nonce: undefined } }),
  'no subject': () => ({ claims: { sub: undefined } }),
  'a subject that is no text': () => ({ claims: { sub: 1097 } }),
};

for (const [name, lie] of Object.entries(LIES)) {
  test(`T11: an ID token is refused: ${name}`, async () => {
    assert.ok((await visit(api, google, idp, 'ann'))?.identity);
    google.misbehave = { faults: {}, ...lie() };
    assert.equal((await visit(api, google, idp, 'ann'))?.error, 'not-trusted');
  });
}

test('HS256 is refused also where the provider announces it', async () => {
  const announced = await addIdp(api, google, { aliases: ['hs256'] });
  google.misbehave = {
    faults: {},
    signing: 'HS256',
    metadata: { id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'] },
  };
  assert.equal((await visit(api, google, announced, 'ann'))?.error, 'not-trusted');
  google.misbehave.signing = 'none';
  assert.equal((await visit(api, google, announced, 'ann'))?.error, 'not-trusted');
});

test('T11: after a rotation the new key is believed at once, and only that one', async () => {
  assert.ok((await visit(api, google, idp, 'ann'))?.identity);
  await google.rotate();
  assert.ok((await visit(api, google, idp, 'ann'))?.identity);
  google.misbehave.signing = 'other-key';
  assert.equal((await visit(api, google, idp, 'ann'))?.error, 'not-trusted');
});

test('metadata of another issuer is refused', async () => {
  const other = await addIdp(api, google, { aliases: ['other issuer'] });
  google.misbehave = { faults: {}, metadata: { issuer: 'https://accounts.google.com' } };
  await assert.rejects(visit(api, google, other, 'ann'), { reason: 'not-trusted' });
});

const FAULTS: readonly Fault[] = ['down', 'huge', 'redirect', 'html', 'error'];

for (const fault of FAULTS) {
  test(`T12: a provider whose discovery, keys or tokens are "${fault}" is unavailable, and confirms nobody`, async () => {
    const fresh = await addIdp(api, google, { aliases: [`fresh ${fault}`] });
    google.misbehave.faults = { discovery: fault };
    await assert.rejects(visit(api, google, fresh, 'ann'), { reason: 'unavailable' });
    // It is not asked again for a while.
    google.misbehave.faults = {};
    await assert.rejects(visit(api, google, fresh, 'ann'), { reason: 'unavailable' });
    const later = await addIdp(api, google, { aliases: [`later ${fault}`] });
    for (const endpoint of ['jwks', 'token'] as Endpoint[]) {
      google.misbehave.faults = { [endpoint]: fault };
      const result = await visit(api, google, later, 'ann');
      assert.equal(result?.identity, undefined);
      assert.equal(result?.error, 'unavailable', `${endpoint} ${fault}`);
    }
    for (const endpoint of ['token', 'userInfo'] as Endpoint[]) {
      github.misbehave.faults = { [endpoint]: fault };
      const result = await visit(api, github, ofGithub, 'ann');
      assert.equal(result?.error, 'unavailable', `${endpoint} ${fault}`);
    }
    assert.ok(![...google.requests, ...github.requests].some((request) => request.endsWith('/elsewhere')));
  });
}

test('T12: a provider that does not answer is left after the time limit', async () => {
  const slow = await addIdp(api, google, { aliases: ['slow'] });
  google.misbehave.faults = { discovery: 'slow' };
  const deps: ProtocolDeps = { ...api.deps, timeoutMs: 50 };
  await assert.rejects(authorizationUrl(deps, slow, TRIP, {}), { reason: 'unavailable', detail: 'no answer in time' });
  google.release();
});

const TRIP = {
  redirectUri: 'https://login.acme.example/callback',
  state: 's'.repeat(43),
  nonce: 'n',
  verifier: 'v'.repeat(43),
  startedAt: 0,
};

test('T12: private addresses and plain http are refused at discovery, at the token endpoint and for keys', async () => {
  const guarded: ProtocolDeps = { ...api.deps, config: { IDP_ALLOW_PRIVATE: false } };
  const at = (issuer: string, name: string): Idp => ({ ...idp, sequence: name, settings: { ...idp.settings, issuer } });
  for (const [issuer, why] of [
    [google.issuer, 'the URL must start with https://'],
    ['https://127.0.0.1/', 'the URL must lead to a public address'],
    ['https://[::1]/', 'the URL must lead to a public address'],
    ['https://169.254.169.254/latest/', 'the URL must lead to a public address'],
    ['https://localhost/', 'the URL must lead to a public address'],
  ] as const) {
    await assert.rejects(authorizationUrl(guarded, at(issuer, issuer), TRIP, {}), (error: Error) => {
      return error.message === why || /only requests to HTTPS/.test(error.message);
    });
  }
  // A name that leads to a private address.
  const resolve = ((_host: string, _options: LookupAllOptions, done: (...args: unknown[]) => void) =>
    done(null, [{ address: '10.0.0.7', family: 4 }])) as unknown as typeof systemLookup;
  await assert.rejects(authorizationUrl({ ...guarded, resolve }, at('https://idp.acme.example/', 'dns'), TRIP, {}), {
    reason: 'unavailable',
    detail: 'the host has no public address',
  });
  const endpoints = {
    authorization: 'https://idp.acme.example/authorize',
    token: 'https://169.254.169.254/token',
    userInfo: 'https://idp.acme.example/user',
  };
  const oauth: Idp = { ...ofGithub, sequence: 'guarded', settings: { ...ofGithub.settings, endpoints } };
  const callback = new URL(`https://login.acme.example/callback?code=c&state=${TRIP.state}`);
  await assert.rejects(identityOf(guarded, oauth, TRIP, callback, {}), {
    detail: 'the URL must lead to a public address',
  });
  assert.equal(
    (await api.call('POST', '/admin/v1/idps', { ...google.settings(), issuer: 'ftp://x.example' })).status,
    400,
  );
});

test('an attribute that people can choose is no id, whatever the settings say', async () => {
  for (const subject of ['email', 'upn', 'preferred_username']) {
    const settings = { ...idp.settings, subject };
    const chosen: Idp = { ...idp, settings };
    await api.deps.pool.query('update idps set settings = $2 where id = $1', [idp.id, JSON.stringify(settings)]);
    assert.equal((await visit(api, google, chosen, 'ann'))?.error, 'refused', subject);
  }
  await api.deps.pool.query('update idps set settings = $2 where id = $1', [idp.id, JSON.stringify(idp.settings)]);
});

test('an attribute of the provider can be the id', async () => {
  const byNumber = await addIdp(api, google, { aliases: ['employee'], subject: 'employee' });
  google.misbehave.claims = { employee: 4711 };
  assert.deepEqual((await visit(api, google, byNumber, 'ann'))?.identity?.subjects, ['4711']);
  google.misbehave.claims = { employee: ['4711'] };
  assert.equal((await visit(api, google, byNumber, 'ann'))?.error, 'not-trusted');
});
