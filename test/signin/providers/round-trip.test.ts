/** Visits at external providers over HTTP: who comes back, and every answer that must be refused (T9, T10). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { takeResult } from '../../../src/signin/providers/round-trip.ts';
import { sweepTrips } from '../../../src/signin/providers/store.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { pairwiseSubject } from '../../support/providers/openid.ts';
import { type Person, startProvider, type TestProvider } from '../../support/providers.ts';
import { addIdp, atProvider, begin, open, requestOf, resultOf, visit } from './visit.ts';

const ANN: Person = {
  login: 'ann',
  id: '1097',
  amr: ['pwd', 'mfa', 'made-up'],
  claims: {
    email: 'ann@acme.example',
    email_verified: true,
    name: 'Ann Example',
    given_name: 'Ann',
    oid: 'o-1',
    tid: 't-1',
  },
};
const TENANT = '72f988bf-86f1-41af-91ab-2d7cd011db47';

let api: TestApi;
const providers: TestProvider[] = [];

async function start(kind: TestProvider['kind'], people: Person[] = [ANN]): Promise<TestProvider> {
  const provider = await startProvider({ kind, people: structuredClone(people) });
  providers.push(provider);
  return provider;
}

before(async () => {
  api = await startApi({ env: { IDP_ALLOW_PRIVATE: 'true' } });
});
after(async () => {
  await Promise.all(providers.map((provider) => provider.stop()));
  await api.stop();
});

test('Google says who somebody is, with PKCE, state and nonce', async () => {
  const google = await start('google');
  const idp = await addIdp(api, google);
  const { url } = await begin(api, idp);
  for (const name of ['state', 'nonce', 'code_challenge'])
    assert.match(url.searchParams.get(name) ?? '', /^[\w-]{43}$/);
  assert.equal(url.searchParams.get('code_challenge_method'), 'S256');
  assert.equal(url.searchParams.get('redirect_uri'), `${api.deps.config.baseUrl}/ui/idps/${idp.id}/callback`);
  const identity = (await visit(api, google, idp, 'ann'))?.identity;
  assert.deepEqual(identity?.subjects, ['1097']);
  assert.equal(identity?.email, 'ann@acme.example');
  assert.equal(identity?.emailVerified, true);
  assert.equal(identity?.name, 'Ann Example');
  assert.deepEqual(identity?.amr, ['pwd', 'mfa']);
});

test('Microsoft: the object id and the tenant name a person, never an address, which never counts as verified', async () => {
  const microsoft = await start('microsoft');
  const idp = await addIdp(api, microsoft);
  const identity = (await visit(api, microsoft, idp, 'ann'))?.identity;
  assert.deepEqual(identity?.subjects, ['o-1', 'o-1.t-1', 't-1.o-1', pairwiseSubject(microsoft, ANN)]);
  assert.equal(identity?.emailVerified, false);
  const ofTenant = await addIdp(api, microsoft, { aliases: ['tenant'], tenants: [TENANT] });
  assert.equal((await visit(api, microsoft, ofTenant, 'ann'))?.error, 'not-trusted');
  microsoft.misbehave.claims = { tid: TENANT.toUpperCase() };
  assert.equal((await visit(api, microsoft, ofTenant, 'ann'))?.identity?.subjects[0], 'o-1');
  microsoft.misbehave.claims = { tid: undefined };
  assert.equal((await visit(api, microsoft, idp, 'ann'))?.error, 'not-trusted', 'without a tenant');
  microsoft.misbehave.claims = { oid: undefined };
  assert.equal((await visit(api, microsoft, idp, 'ann'))?.error, 'not-trusted', 'without an object id');
});

test('GitHub: the numeric id, and the primary address as its own list says', async () => {
  const emails = [
    { email: 'old@acme.example', primary: false, verified: true },
    { email: 'ann@acme.example', primary: true, verified: true },
  ];
  const github = await start('github', [{ ...ANN, emails, claims: { email: 'shown@acme.example' } }]);
  const idp = await addIdp(api, github);
  const identity = (await visit(api, github, idp, 'ann'))?.identity;
  assert.deepEqual(
    [identity?.subjects, identity?.email, identity?.emailVerified],
    [['1097'], 'ann@acme.example', true],
  );
  emails[1] = { email: 'new@acme.example', primary: true, verified: false };
  Object.assign(github.people[0] as Person, { emails });
  assert.equal((await visit(api, github, idp, 'ann'))?.identity?.emailVerified, false);
  github.misbehave.faults = { emails: 'error' };
  const without = (await visit(api, github, idp, 'ann'))?.identity;
  assert.deepEqual([without?.email, without?.emailVerified], ['shown@acme.example', false]);
});

test('Apple answers with a form, whose redirect finds the cookie of the browser, and gets a secret that its key signs', async () => {
  const user = JSON.stringify({ name: { firstName: 'Ann', lastName: 'Example' } });
  const apple = await start('apple', [
    { ...ANN, claims: { email: 'x@privaterelay.example', email_verified: 'true', user } },
  ]);
  const idp = await addIdp(api, apple);
  const begun = await begin(api, idp);
  assert.equal(begun.url.searchParams.get('response_mode'), 'form_post');
  begun.url.searchParams.set('login_hint', 'ann');
  const page = await (await fetch(begun.url)).text();
  const fields = [...page.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value.replaceAll('&quot;', '"')],
  );
  const action = /action="([^"]+)"/.exec(page)?.[1] as string;
  // A form of another site, without cookies.
  const posted = await fetch(action, {
    method: 'POST',
    body: new URLSearchParams(fields),
    redirect: 'manual',
    headers: { origin: apple.issuer, 'sec-fetch-site': 'cross-site' },
  });
  assert.equal(posted.status, 303);
  const callback = new URL(posted.headers.get('location') ?? '', action);
  assert.equal(callback.pathname, new URL(action).pathname);
  const identity = (await resultOf(api, begun, await open(callback, begun.cookie)))?.identity;
  assert.deepEqual(identity?.subjects, ['1097']);
  assert.deepEqual([identity?.givenName, identity?.familyName, identity?.emailVerified], ['Ann', 'Example', true]);
});

test('two visits of one browser come back independently', async () => {
  const google = await start('google');
  const idp = await addIdp(api, google, { aliases: ['two'] });
  const first = await begin(api, idp);
  const second = await begin(api, idp, {}, { cookie: first.cookie });
  assert.equal(second.cookie, first.cookie);
  for (const one of [second, first]) {
    const answer = await open(await atProvider(google, one, 'ann'), first.cookie);
    assert.deepEqual((await resultOf(api, one, answer))?.identity?.subjects, ['1097']);
  }
});

test('T10: an answer in no or another browser, used, expired or made up is refused, and asks the provider nothing', async () => {
  const google = await start('google');
  const idp = await addIdp(api, google, { aliases: ['t10'] });
  const begun = await begin(api, idp);
  const other = await begin(api, idp);
  const callback = await atProvider(google, begun, 'ann');
  const madeUp = new URL(callback);
  madeUp.searchParams.set('state', 'x'.repeat(43));
  const twice = new URL(callback);
  twice.searchParams.append('state', 'x');
  const before = google.requests.length;
  for (const [url, cookie] of [
    [callback, ''],
    [callback, other.cookie],
    [madeUp, begun.cookie],
    [twice, begun.cookie],
  ] as const) {
    const refused = await open(url, cookie);
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), /started in another browser/);
  }
  assert.equal(google.requests.length, before);
  const answer = await open(callback, begun.cookie);
  assert.equal(answer.status, 303);
  assert.equal((await open(callback, begun.cookie)).status, 400, 'used once');
  const tripId = (answer.headers.get('location') ?? '').split('/').at(-1) as string;
  const take = (cookie: string, uid: string) => takeResult(api.deps, requestOf(cookie), { tripId, uid });
  assert.equal(await take(other.cookie, begun.uid), undefined, 'another browser');
  assert.ok(await take(begun.cookie, begun.uid));
  assert.equal(await take(begun.cookie, begun.uid), undefined, 'taken once');
  const late = await begin(api, idp);
  const afterwards = await atProvider(google, late, 'ann');
  await api.deps.pool.query(`update idp_round_trips set expires_at = now() - interval '1 second'`);
  assert.equal((await open(afterwards, late.cookie)).status, 400, 'after ten minutes');
  assert.ok((await sweepTrips(api.deps.pool)) > 0);
});

test('T9: the code of one provider is not taken on the callback of another', async () => {
  const [a, b] = [await start('google'), await start('google')];
  const [idpA, idpB] = [await addIdp(api, a, { aliases: ['a'] }), await addIdp(api, b, { aliases: ['b'] })];
  const begun = await begin(api, idpA);
  const callback = await atProvider(a, begun, 'ann');
  const elsewhere = new URL(callback.href.replace(idpA.id, idpB.id));
  assert.equal((await open(elsewhere, begun.cookie)).status, 400);
  assert.ok(!b.requests.includes('POST /token'), 'the code was not sent to the other provider');
  for (const iss of ['https://attacker.example', null]) {
    b.misbehave.iss = iss;
    assert.equal((await visit(api, b, idpB, 'ann'))?.error, 'not-trusted', String(iss));
  }
  assert.ok(!b.requests.includes('POST /token'), 'the code of a wrong issuer was not redeemed');
});

test('a provider answers on the path of an old system, by GET and by form, and on no other', async () => {
  const google = await start('google');
  const idp = await addIdp(api, google, { aliases: ['old'], callbackPaths: ['/login/callback', '/auth/v1/callback'] });
  const begun = await begin(api, idp);
  const callback = await atProvider(google, begun, 'ann');
  assert.equal(callback.pathname, '/login/callback');
  const own = new URL(`${api.deps.config.baseUrl}/ui/idps/${idp.id}/callback${callback.search}`);
  const second = new URL(`${api.deps.config.baseUrl}/auth/v1/callback${callback.search}`);
  for (const url of [own, second]) assert.equal((await open(url, begun.cookie)).status, 400, url.pathname);
  const unknown = new URL(`${api.deps.config.baseUrl}/unknown/callback${callback.search}`);
  assert.equal((await open(unknown, begun.cookie)).status, 401);
  const form = await fetch(`${api.deps.config.baseUrl}/login/callback`, {
    method: 'POST',
    body: callback.searchParams,
    redirect: 'manual',
  });
  const led = new URL(form.headers.get('location') ?? '', callback);
  assert.equal(led.pathname, '/login/callback');
  assert.deepEqual((await resultOf(api, begun, await open(led, begun.cookie)))?.identity?.subjects, ['1097']);
});

test('the path of an old system may end with a slash, and only the path with the slash answers', async () => {
  const google = await start('google');
  const path = '/source/oauth/callback/google/';
  const idp = await addIdp(api, google, { aliases: ['slash'], callbackPaths: [path] });
  const begun = await begin(api, idp);
  const callback = await atProvider(google, begun, 'ann');
  assert.equal(callback.pathname, path);
  const bare = new URL(callback.href.replace(path, path.slice(0, -1)));
  assert.equal((await open(bare, begun.cookie)).status, 401);
  const form = await fetch(callback.origin + path, { method: 'POST', body: callback.searchParams, redirect: 'manual' });
  const led = new URL(form.headers.get('location') ?? '', callback.origin + path);
  assert.equal(led.pathname, path);
  assert.deepEqual((await resultOf(api, begun, await open(led, begun.cookie)))?.identity?.subjects, ['1097']);
});

test('T9: an organization does not get the codes of the instance on a path that both have', async () => {
  const [honest, foreign] = [await start('google'), await start('google')];
  const path = { callbackPaths: ['/realms/acme/broker/google/endpoint'] };
  const idp = await addIdp(api, honest, { aliases: ['shared'], ...path });
  const { orgId } = await api.setupOrg();
  const { token } = await api.machine(orgId, ['ORG_OWNER']);
  const theirs = await addIdp(api, foreign, { aliases: ['theirs'], ...path, orgId, token });
  for (const one of [honest, foreign])
    one.misbehave.metadata = { authorization_response_iss_parameter_supported: false };
  honest.misbehave.iss = null;
  foreign.misbehave.iss = null;
  assert.deepEqual((await visit(api, honest, idp, 'ann'))?.identity?.subjects, ['1097']);
  assert.equal((await visit(api, foreign, theirs, 'ann'))?.error, 'not-trusted');
  assert.ok(!foreign.requests.includes('POST /token'));
  foreign.misbehave.iss = undefined;
  assert.deepEqual((await visit(api, foreign, theirs, 'ann'))?.identity?.subjects, ['1097'], 'with iss');
});

test('max_age and prompt=login are passed on, and the time of the sign-in there is checked', async () => {
  const google = await start('google', [{ ...ANN, authTime: Math.floor(Date.now() / 1000) - 900 }]);
  const idp = await addIdp(api, google, { aliases: ['age'] });
  const { url } = await begin(api, idp, { ask: { maxAge: 600, loginHint: 'ann@acme.example' } });
  assert.equal(url.searchParams.get('max_age'), '600');
  assert.equal(url.searchParams.get('login_hint'), 'ann@acme.example');
  assert.equal((await begin(api, idp, { ask: { maxAge: 0 } })).url.searchParams.get('prompt'), 'login');
  google.misbehave.claims = { auth_time: Math.floor(Date.now() / 1000) - 900 };
  assert.equal((await visit(api, google, idp, 'ann', { ask: { maxAge: 600 } }))?.error, 'not-trusted');
  assert.equal((await visit(api, google, idp, 'ann', { ask: { prompt: 'login' } }))?.error, 'not-trusted');
  google.misbehave.claims = { auth_time: Math.floor(Date.now() / 1000) };
  assert.ok((await visit(api, google, idp, 'ann', { ask: { maxAge: 600 } }))?.identity);
  google.misbehave.claims = { auth_time: undefined };
  assert.equal((await visit(api, google, idp, 'ann', { ask: { maxAge: 600 } }))?.identity?.isUndated, true);
});

test('who cancels at the provider comes back with that result', async () => {
  const google = await start('google');
  const idp = await addIdp(api, google, { aliases: ['cancel'] });
  assert.equal((await visit(api, google, idp, 'cancel'))?.error, 'cancelled');
});

test('what one network begins is limited', async () => {
  const google = await start('google');
  const idp = await addIdp(api, google, { aliases: ['limit'] });
  const { pool } = api.deps;
  await begin(api, idp);
  await pool.query('update attempt_counts set attempts = 1000 where attempts < 1000');
  await assert.rejects(begin(api, idp), { id: 'RATE-LIMIT' });
  await pool.query('delete from attempt_counts');
});

test('an organization whose visits are used up takes none from others', async () => {
  const google = await start('google');
  const { pool } = api.deps;
  const [one, other] = [await api.setupOrg(), await api.setupOrg()];
  const [theirs, others] = await Promise.all(
    [one, other].map(({ orgId }) => addIdp(api, google, { aliases: ['tenant'], orgId })),
  );
  const shared = await addIdp(api, google, { aliases: ['shared by all'] });
  assert(theirs && others);
  const networks = (function* () {
    for (let n = 1; ; n++) yield { ip: `192.0.2.${n}` };
  })();
  const from = () => networks.next().value as { ip: string };
  for (const orgId of [undefined, one.orgId]) {
    const [used, free] = orgId === undefined ? [theirs, others] : [shared, shared];
    await begin(api, used, { orgId }, from());
    await pool.query('update attempt_counts set attempts = 100000');
    const refusal = { id: 'RATE-LIMIT', message: /Too many sign-ins have been begun/ };
    await assert.rejects(begin(api, used, { orgId }, from()), refusal);
    await begin(api, free, { orgId: orgId && other.orgId }, from());
    await begin(api, shared, {}, from());
    await pool.query('delete from attempt_counts');
  }
});
