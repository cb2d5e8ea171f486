/** Sign-ins at an external provider for programs with pages of their own, and the sessions that they open. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach } from 'node:test';
import { type Answer, errorId, startApi, type TestApi, unique } from '../support/api.ts';
import { Browser } from '../support/oauth.ts';
import { startProvider, type TestProvider } from '../support/providers.ts';
import { codeAt, wrongCode } from '../support/totp.ts';
import { waitFor } from '../support/wait.ts';

let api: TestApi;
let google: TestProvider;
let idpId: string;
const ANN = { login: 'ann', id: '1001', claims: { email: 'ann@gmail.example', email_verified: true, name: 'Ann' } };
const EVE = { login: 'eve', id: '1002', claims: { email: 'ann@gmail.example', email_verified: true } };

before(async () => {
  google = await startProvider({ kind: 'google', people: [ANN, EVE] });
  api = await startApi({ env: { IDP_ALLOW_PRIVATE: 'true', RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_LOGINS: '0' } });
  const added = await api.call('POST', '/admin/v1/idps', google.settings());
  assert.equal(added.status, 200, JSON.stringify(added.body));
  idpId = added.body.idpId;
});
after(async () => {
  await api.stop();
  await google.stop();
});
beforeEach(() => {
  google.misbehave = { faults: {} };
});

/** An organization with a program that manages it, and a user with a link to Ann's account. */
async function place(subject = ANN.id) {
  const { body: org } = await api.call('POST', '/management/v1/orgs', { name: unique('Acme') });
  const { token, userId: programId } = await api.machine(org.id, ['ORG_USER_MANAGER']);
  const user = {
    organization: { orgId: org.id },
    username: unique('ann'),
    profile: { givenName: 'Ann', familyName: 'Arbor' },
    email: { email: `${unique('ann')}@acme.example`, isVerified: true },
    idpLinks: [{ idpId: 'google-oauth2', userId: subject, userName: 'ann' }],
  };
  const { body, status } = await api.call('POST', '/v2beta/users/human', user);
  assert.equal(status, 200, JSON.stringify(body));
  return { orgId: org.id as string, token, programId, userId: body.userId as string };
}
type Place = Awaited<ReturnType<typeof place>>;

const base = () => api.deps.config.baseUrl;
const urls = () => ({ successUrl: `${base()}/done?state=mine`, failureUrl: `${base()}/failed` });

function start({ orgId, token }: Pick<Place, 'orgId' | 'token'>, more: object = {}): Promise<Answer> {
  return api.call('POST', '/v2beta/idp_intents', { idpId, urls: urls(), ...more }, { token, orgId });
}

/** Sends a browser to the provider and back; returns the address of the program that it ends at. */
async function travel(authUrl: string, login: string): Promise<URL> {
  const browser = new Browser();
  let next = new URL(authUrl);
  next.searchParams.set('login_hint', login);
  for (let hops = 0; hops < 10; hops++) {
    if (next.pathname === '/done' || next.pathname === '/failed') return next;
    const response = await browser.fetch(next.href);
    const location = response.headers.get('location');
    assert(location, `${response.status} at ${next}: ${await response.text()}`);
    next = new URL(location, next);
  }
  throw new Error('The way does not end.');
}

/** A whole visit of a person at the provider. */
async function visited(at: Pick<Place, 'orgId' | 'token'>, login = 'ann') {
  const started = await start(at);
  assert.equal(started.status, 200, JSON.stringify(started.body));
  const { searchParams } = await travel(started.body.authUrl, login);
  const intent = { idpIntentId: searchParams.get('id') ?? '', idpIntentToken: searchParams.get('token') ?? '' };
  return { intent, user: searchParams.get('user'), state: searchParams.get('state') };
}
type Intent = Awaited<ReturnType<typeof visited>>['intent'];

const retrieve = ({ idpIntentId, idpIntentToken }: Intent, token: string) =>
  api.call('POST', `/v2beta/idp_intents/${idpIntentId}`, { idpIntentToken }, { token });

const open = (userId: string, idpIntent: Intent, token: string, more: object = {}) =>
  api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, idpIntent, ...more } }, { token });

test('an intent tells the program who came back, and opens a session once', async () => {
  const at = await place();
  const { intent, user, state } = await visited(at);
  assert.equal(state, 'mine');
  assert.equal(user, at.userId);
  const told = await retrieve(intent, at.token);
  assert.equal(told.status, 200, JSON.stringify(told.body));
  assert.equal(told.body.userId, at.userId);
  assert.equal(told.body.details.resourceOwner, at.orgId);
  const { rawInformation, ...information } = told.body.idpInformation;
  assert.deepEqual(information, { idpId, userId: ANN.id, userName: 'ann@gmail.example' });
  assert.equal(rawInformation.sub, ANN.id);
  const opened = await open(at.userId, intent, at.token);
  assert.equal(opened.status, 201, JSON.stringify(opened.body));
  const { body } = await api.call('GET', `/v2beta/sessions/${opened.body.sessionId}`, undefined, { token: at.token });
  assert(body.session.factors.intent.verifiedAt);
  assert.equal(body.session.factors.password, undefined);
  assert.equal(errorId(await open(at.userId, intent, at.token)), 'IDP-INTENT-TOKEN');
  assert.equal(errorId(await retrieve(intent, at.token)), 'IDP-INTENT-TOKEN');
  const series = 'muster_provider_signins_total{type="google",outcome="succeeded"}';
  await waitFor(async () => (await (await fetch(`${api.url}/metrics`)).text()).includes(`${series} 1\n`), {
    what: series,
  });
  const { body: events } = await api.call('POST', '/admin/v1/events/_search', {
    types: ['user.signin.succeeded'],
    userId: at.userId,
  });
  assert.equal(events.result.length, 1, JSON.stringify(events));
  assert.equal(events.result[0].payload.idpId, idpId);
});

test('a token is good only for who started the intent, with its own id, and before its end', async () => {
  const at = await place();
  const { intent } = await visited(at);
  const other = await api.machine(at.orgId, ['ORG_OWNER']);
  assert.equal(errorId(await retrieve(intent, other.token)), 'IDP-INTENT-NOT-FOUND');
  assert.equal(errorId(await open(at.userId, intent, other.token)), 'IDP-INTENT-NOT-FOUND');
  const { intent: second } = await visited(at);
  const mixed = { ...intent, idpIntentToken: second.idpIntentToken };
  assert.equal(errorId(await retrieve(mixed, at.token)), 'IDP-INTENT-TOKEN');
  const unknown = { ...intent, idpIntentId: 'none' };
  assert.equal(errorId(await retrieve(unknown, at.token)), 'IDP-INTENT-NOT-FOUND');
  await api.deps.pool.query('update idp_round_trips set expires_at = now() where id = $1', [intent.idpIntentId]);
  assert.equal(errorId(await open(at.userId, intent, at.token)), 'IDP-INTENT-NOT-FOUND');
  const { rows } = await api.deps.pool.query('select from sessions where user_id = $1', [at.userId]);
  assert.equal(rows.length, 0);
});

test('an account opens no session of a user without a link to it, nor of another organization', async () => {
  const at = await place();
  const { intent, user } = await visited(at, 'eve');
  assert.equal(user, null);
  assert.equal((await retrieve(intent, at.token)).body.userId, undefined);
  assert.equal(errorId(await open(at.userId, intent, at.token)), 'SESSION-CREDENTIALS');
  const there = await place();
  const { token } = await api.machine(at.orgId, ['ORG_OWNER']);
  const roles = { userId: (await api.call('GET', '/auth/v1/users/me', undefined, { token })).body.user.id };
  const member = { ...roles, roles: ['ORG_OWNER'] };
  const added = await api.call('POST', '/management/v1/orgs/me/members', member, { orgId: there.orgId });
  assert.equal(added.status, 200, JSON.stringify(added.body));
  const { intent: mine } = await visited({ orgId: at.orgId, token });
  assert.equal(errorId(await open(there.userId, mine, token)), 'SESSION-CREDENTIALS');
  assert.equal((await open(at.userId, mine, token)).status, 201);
});

test('the second factor is asked for, and its absence or a wrong code leaves the token as it is', async () => {
  const at = await place();
  const begun = await api.call('POST', `/v2beta/users/${at.userId}/totp`, {});
  const { secret } = begun.body;
  await api.call('POST', `/v2beta/users/${at.userId}/totp/verify`, { code: codeAt(secret, Date.now() - 30_000) });
  const { intent } = await visited(at);
  assert.equal(errorId(await open(at.userId, intent, at.token)), 'SESSION-TOTP-REQUIRED');
  assert.equal(errorId(await open(at.userId, intent, at.token, { totp: { code: wrongCode(secret) } })), 'SESSION-TOTP');
  const opened = await open(at.userId, intent, at.token, { totp: { code: codeAt(secret) } });
  assert.equal(opened.status, 201, JSON.stringify(opened.body));
  const { body } = await api.call('GET', `/v2beta/sessions/${opened.body.sessionId}`, undefined, { token: at.token });
  assert(body.session.factors.totp.verifiedAt && body.session.factors.intent.verifiedAt);
});

test('PATCH opens a waiting session with an intent, and adds the factor to an open one', async () => {
  const at = await place();
  const password = { newPassword: { password: 'correct horse battery staple' } };
  assert.equal((await api.call('POST', `/v2beta/users/${at.userId}/password`, password)).status, 200);
  const checks = { user: { userId: at.userId }, password: password.newPassword };
  const opened = await api.call('POST', '/v2beta/sessions', { checks }, { token: at.token });
  assert.equal(opened.status, 201, JSON.stringify(opened.body));
  const { intent: idpIntent } = await visited(at);
  const path = `/v2beta/sessions/${opened.body.sessionId}`;
  const unknown = { ...idpIntent, idpIntentId: 'none' };
  const refused = await api.call('PATCH', path, { checks: { idpIntent: unknown } }, { token: at.token });
  assert.equal(errorId(refused), 'IDP-INTENT-NOT-FOUND');
  const changed = await api.call('PATCH', path, { checks: { idpIntent } }, { token: at.token });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  const { factors } = (await api.call('GET', path, undefined, { token: at.token })).body.session;
  assert(factors.password.verifiedAt && factors.intent.verifiedAt);
  assert.equal(
    errorId(await api.call('PATCH', path, { checks: { idpIntent } }, { token: at.token })),
    'IDP-INTENT-TOKEN',
  );
  const both = await api.call('POST', '/v2beta/sessions', { checks: { ...checks, idpIntent } }, { token: at.token });
  assert.equal(errorId(both), 'SESSION-INVALID');
});

test('locked and inactive users get no session', async () => {
  const at = await place();
  const { intent } = await visited(at);
  await api.call('POST', `/v2beta/users/${at.userId}/lock`, {});
  assert.equal(errorId(await open(at.userId, intent, at.token)), 'SESSION-USER-LOCKED');
  await api.call('POST', `/v2beta/users/${at.userId}/unlock`, {});
  assert.equal((await open(at.userId, intent, at.token)).status, 201);
});

test('an intent leads only to addresses that the organization allows, and needs a role and a provider', async () => {
  const at = await place();
  const evil = { successUrl: 'https://evil.example/done', failureUrl: `${base()}/failed` };
  assert.equal(errorId(await start(at, { urls: evil })), 'URL-TEMPLATE-NOT-ALLOWED');
  const alsoEvil = { successUrl: `${base()}/done`, failureUrl: 'https://evil.example/failed' };
  assert.equal(errorId(await start(at, { urls: alsoEvil })), 'URL-TEMPLATE-NOT-ALLOWED');
  assert.equal(errorId(await start(at, { urls: { successUrl: 'nowhere', failureUrl: 'x' } })), 'IDP-INTENT-INVALID');
  const there = await place();
  assert.equal((await start({ orgId: there.orgId, token: at.token })).status, 403);
  assert.equal((await start(at, { idpId: 'none' })).status, 403);
  assert.equal(errorId(await start({ orgId: at.orgId, token: api.token }, { idpId: 'none' })), 'IDP-NOT-FOUND');
  google.misbehave.faults.discovery = 'down';
  const added = await api.call('POST', '/management/v1/idps', google.settings({ aliases: [] }), { orgId: at.orgId });
  assert.equal(errorId(await start(at, { idpId: added.body.idpId })), 'IDP-UNAVAILABLE');
});

test('a provider that confirms nobody leads to the failure URL, without a token', async () => {
  const at = await place();
  google.misbehave.signing = 'other-key';
  const { body } = await start(at);
  const { pathname, searchParams } = await travel(body.authUrl, 'ann');
  assert.equal(pathname, '/failed');
  assert.equal(searchParams.get('error'), 'not-trusted');
  assert.equal(searchParams.get('token'), null);
});

test('an intent that signs in nobody is audited and counted, as a sign-in on the page is', async () => {
  const at = await place();
  const counted = async (outcome: string) => {
    const text = await (await fetch(`${api.url}/metrics`)).text();
    const series = `muster_provider_signins_total{type="google",outcome="${outcome}"} `;
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(series))
        ?.slice(series.length) ?? 0,
    );
  };
  const failures = async () => {
    const { body } = await api.call('POST', '/admin/v1/events/_search', {
      types: ['user.signin.failed'],
      orgId: at.orgId,
    });
    return body.result.map(({ payload }: { payload: { reason: string } }) => payload.reason);
  };
  const expected: string[] = [];
  for (const [reason, misbehave, arrive] of [
    ['provider_refused', { signing: 'other-key' }, () => travelled('ann')],
    ['provider_unavailable', { faults: { token: 'down' } }, () => travelled('ann')],
    ['provider_cancelled', {}, cancelled],
    ['link_missing', {}, () => travelled('eve')],
  ] as const) {
    const before = await counted(reason);
    google.misbehave = { faults: {}, ...misbehave };
    await arrive();
    google.misbehave = { faults: {} };
    expected.push(reason);
    await waitFor(async () => (await counted(reason)) === before + 1, { what: reason });
    assert.deepEqual((await failures()).sort(), expected.toSorted());
  }

  async function travelled(login: string): Promise<string> {
    return (await travel((await start(at)).body.authUrl, login)).pathname;
  }
  async function cancelled(): Promise<void> {
    const url = new URL((await start(at)).body.authUrl);
    const back = new URL(url.searchParams.get('redirect_uri') ?? '');
    back.search = String(new URLSearchParams({ state: url.searchParams.get('state') ?? '', error: 'access_denied' }));
    back.searchParams.set('iss', google.issuer);
    const answer = await fetch(back, { redirect: 'manual' });
    assert.match(answer.headers.get('location') ?? '', /failed.*error=cancelled/);
  }
});
