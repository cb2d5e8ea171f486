import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { decodeJwt } from 'jose';
import { listen } from '../../../src/platform/http/server.ts';
import { openProvider } from '../../../src/signin/oauth/provider.ts';
import { sweepExpired } from '../../../src/signin/oauth/tokens.ts';
import { buildApp } from '../../../src/start/app.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import {
  AFTER_LOGOUT,
  API_SCOPE,
  addClient,
  authorizeUrl,
  Browser,
  codeFlow,
  finishLogin,
  loginUid,
  redeem,
  statusWith,
  type TestClient,
  tokenCall,
  tokensOf,
} from '../../support/oauth.ts';
import { waitFor } from '../../support/wait.ts';

let api: TestApi;
let org: SetUp;
let client: TestClient;
let spa: TestClient;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  client = await addClient(api);
  spa = await addClient(api, { authMethod: 'none' });
});
after(() => api.stop());

const refresh = (token: string, app = client, more = {}) =>
  tokenCall(api, { grant_type: 'refresh_token', refresh_token: token, ...more }, app);

const OFFLINE = `openid offline_access ${API_SCOPE}`;

test('a refresh token gets a new access token and ID token; with fewer scopes, never more', async () => {
  const first = await tokensOf(api, client, { userId: org.userId });
  const { status, body } = await refresh(first.refresh_token);
  assert.equal(status, 200);
  assert.equal(await statusWith(api, body.access_token), 200);
  assert.equal(decodeJwt(body.id_token).sub, org.userId);
  const fewer = await refresh(body.refresh_token, client, { scope: 'openid' });
  assert.deepEqual([fewer.body.scope, await statusWith(api, fewer.body.access_token)], ['openid', 401]);
  const more = await refresh(body.refresh_token, client, { scope: 'openid email' });
  assert.deepEqual([more.status, more.body.error], [400, 'invalid_scope']);
});

test('a client without the grant gets no refresh token', async () => {
  const app = await addClient(api, { grantTypes: ['authorization_code'] });
  assert.equal((await tokensOf(api, app, { userId: org.userId, scope: OFFLINE })).refresh_token, undefined);
});

test('a public client gets a new refresh token with each use; reuse of an old one revokes all', async () => {
  const first = await tokensOf(api, spa, { userId: org.userId });
  const second = (await refresh(first.refresh_token, spa)).body;
  assert.notEqual(second.refresh_token, first.refresh_token);
  await endGrace();
  assert.equal((await refresh(first.refresh_token, spa)).body.error, 'invalid_grant');
  assert.equal((await refresh(second.refresh_token, spa)).body.error, 'invalid_grant');
  assert.equal(await statusWith(api, second.access_token), 401);
});

test('tabs that refresh at once stay signed in, with one refresh token', async () => {
  const { refresh_token: token } = await tokensOf(api, spa, { userId: org.userId });
  const answers = await Promise.all(Array.from({ length: 6 }, () => refresh(token, spa)));
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
  const [next = '', ...others] = new Set(answers.map(({ body }) => body.refresh_token));
  assert.deepEqual([others, next === token], [[], false]);
  for (const { body } of answers) assert.equal(await statusWith(api, body.access_token), 200);
  const afterwards = (await refresh(next, spa)).body.refresh_token;
  assert.equal((await refresh(token, spa)).body.refresh_token, next, 'also when the first tab is further already');
  assert.equal((await refresh(next, spa)).body.refresh_token, afterwards);
});

test('two holders of one refresh token are detected when both go on', async () => {
  const { refresh_token: token } = await tokensOf(api, spa, { userId: org.userId });
  const [own, stolen] = [await refresh(token, spa), await refresh(token, spa)];
  await endGrace();
  const next = await refresh(own.body.refresh_token, spa);
  assert.equal(next.status, 200);
  await endGrace();
  assert.equal((await refresh(stolen.body.refresh_token, spa)).body.error, 'invalid_grant');
  assert.equal((await refresh(next.body.refresh_token, spa)).body.error, 'invalid_grant');
});

test('another client cannot use a refresh token in its grace period', async () => {
  const { refresh_token: token } = await tokensOf(api, spa, { userId: org.userId });
  assert.equal((await refresh(token, spa)).status, 200);
  const other = await addClient(api, { authMethod: 'none' });
  assert.equal((await refresh(token, other)).body.error, 'invalid_grant');
});

/** Rotated refresh tokens can no longer be used again. */
async function endGrace(): Promise<void> {
  await api.deps.pool.query(`update oauth_models set consumed_at = consumed_at - interval '11 seconds'`);
}

test('a client with a secret keeps its refresh token until it is old', async () => {
  const first = await tokensOf(api, client, { userId: org.userId });
  assert.equal((await refresh(first.refresh_token)).body.refresh_token, first.refresh_token);
  await backDate('RefreshToken', 25 * 86_400);
  assert.notEqual((await refresh(first.refresh_token)).body.refresh_token, first.refresh_token);
});

/** Ages all rows of a kind. */
async function backDate(kind: string, seconds: number): Promise<void> {
  await api.deps.pool.query(
    `update oauth_models set expires_at = expires_at - $2 * interval '1 second', payload = (payload::jsonb || jsonb_build_object(
       'iat', (payload->>'iat')::float - $2, 'exp', (payload->>'exp')::float - $2,
       'iiat', (payload->>'iiat')::float - $2))::json where kind = $1`,
    [kind, seconds],
  );
}

test('a refresh token is valid for 30 days, with its replacements for 90 in all', async () => {
  const first = await tokensOf(api, spa, { userId: org.userId, scope: OFFLINE });
  await backDate('RefreshToken', 29 * 86_400);
  const second = (await refresh(first.refresh_token, spa)).body;
  await backDate('RefreshToken', 29 * 86_400);
  const third = (await refresh(second.refresh_token, spa)).body;
  await backDate('RefreshToken', 29 * 86_400);
  const last = (await refresh(third.refresh_token, spa)).body;
  await backDate('RefreshToken', 4 * 86_400);
  assert.equal((await refresh(last.refresh_token, spa)).body.error, 'invalid_grant');
});

test('an access token ends after an hour', async () => {
  const { access_token: token } = await tokensOf(api, client, { userId: org.userId });
  await backDate('AccessToken', 3620);
  assert.equal(await statusWith(api, token), 401);
  assert.equal((await api.call('GET', '/oidc/v1/userinfo', undefined, { token })).status, 401);
});

/** Logs out like a browser with scripts. */
async function logOut(browser: Browser, query: Record<string, string>, choice: Record<string, string>) {
  const page = await browser.fetch(`${api.url}/oidc/v1/end_session?${new URLSearchParams(query)}`);
  const markup = await page.text();
  const [, action] = /action="([^"]+)"/.exec(markup) as RegExpExecArray;
  const [, xsrf] = /name="xsrf" value="([^"]+)"/.exec(markup) as RegExpExecArray;
  const body = new URLSearchParams({ xsrf: xsrf as string, ...choice });
  const done = await browser.fetch(action as string, { method: 'POST', body });
  return { page, markup, done };
}

test('logout ends the browser session and its tokens, but not offline tokens', async () => {
  const browser = new Browser();
  const bound = await tokensOf(api, client, { userId: org.userId, browser });
  const free = await tokensOf(api, spa, { userId: org.userId, browser, scope: OFFLINE });
  assert(free.scope.includes('offline_access'));
  const query = { id_token_hint: bound.id_token, post_logout_redirect_uri: AFTER_LOGOUT, state: 's' };
  const { page, markup, done } = await logOut(browser, query, { logout: 'yes' });
  // The hint names the user, so the page's script submits the form for them.
  assert.match(markup, /<script nonce="([^"]+)">document.querySelector\("button\[name=logout\]"\).click\(\)<\/script>/);
  assert.match(page.headers.get('content-security-policy') as string, /form-action 'self' https:\/\/app.example.com;/);
  assert.deepEqual([done.status, done.headers.get('location')], [303, `${AFTER_LOGOUT}?state=s`]);
  assert.equal(await statusWith(api, bound.access_token), 401);
  assert.equal((await refresh(bound.refresh_token)).body.error, 'invalid_grant');
  assert.equal(await statusWith(api, free.access_token), 200);
  assert.equal((await refresh(free.refresh_token, spa)).status, 200);
  assert(loginUid(await browser.fetch(authorizeUrl(api, client, 'v'.repeat(43)))));
});

test('without a hint the user is asked, and may stay signed in', async () => {
  const browser = new Browser();
  const tokens = await tokensOf(api, client, { userId: org.userId, browser });
  const stay = await logOut(browser, {}, {});
  assert(!stay.markup.includes('<script'));
  assert.match(await (await browser.fetch(stay.done.headers.get('location') as string)).text(), /still signed in/);
  assert.equal(await statusWith(api, tokens.access_token), 200);
  const leave = await logOut(browser, {}, { logout: 'yes' });
  assert.match(await (await browser.fetch(leave.done.headers.get('location') as string)).text(), /are signed out/);
  assert.equal(await statusWith(api, tokens.access_token), 401);
});

test('after logout nobody is sent to an unregistered address', async () => {
  const query = new URLSearchParams({
    client_id: client.clientId,
    post_logout_redirect_uri: 'https://evil.example.com/',
  });
  const answer = await api.call('GET', `/oidc/v1/end_session?${query}`);
  assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_request']);
});

test('another user in the same browser is kept separate from the first', async () => {
  const browser = new Browser();
  const first = await tokensOf(api, client, { userId: org.userId, browser });
  const other = await api.setupOrg();
  const asked = await browser.fetch(authorizeUrl(api, client, 'v'.repeat(43), { params: { prompt: 'login' } }));
  const back = await finishLogin(api, loginUid(asked) as string, other.userId);
  const change = await (await browser.fetch(back)).text();
  const [, action] = /action="([^"]+)"/.exec(change) as RegExpExecArray;
  const [, xsrf] = /name="xsrf" value="([^"]+)"/.exec(change) as RegExpExecArray;
  const body = new URLSearchParams({ xsrf: xsrf as string, logout: 'yes' });
  const resumed = await browser.fetch(action as string, { method: 'POST', body });
  const sentBack = await browser.fetch(resumed.headers.get('location') as string);
  const code = new URL(sentBack.headers.get('location') as string).searchParams.get('code') as string;
  const tokens = await redeem(api, client, { code, verifier: 'v'.repeat(43), params: new URLSearchParams() });
  assert.equal(decodeJwt(tokens.body.id_token).sub, other.userId);
  assert.equal(await statusWith(api, first.access_token), 401);
});

test('sessions and tokens end when their user is no longer active', async () => {
  const states = [
    (userId: string) => api.call('POST', `/v2beta/users/${userId}/deactivate`),
    (userId: string) => api.call('POST', `/v2beta/users/${userId}/lock`),
    (userId: string) => api.call('DELETE', `/v2beta/users/${userId}`),
    (userId: string) => api.deps.pool.query(`update users set state = 'inactive' where id = $1`, [userId]),
  ];
  for (const end of states) {
    const { userId } = await api.setupOrg();
    const browser = new Browser();
    const tokens = await tokensOf(api, client, { userId, browser, scope: OFFLINE });
    const flow = await codeFlow(api, client, { userId, browser });
    await end(userId);
    assert.equal(await statusWith(api, tokens.access_token), 401);
    assert.equal((await refresh(tokens.refresh_token)).body.error, 'invalid_grant');
    assert.equal((await redeem(api, client, flow)).body.error, 'invalid_grant');
    const { access_token: token } = tokens;
    assert.equal((await api.call('GET', '/oidc/v1/userinfo', undefined, { token })).status, 401);
    assert(loginUid(await browser.fetch(authorizeUrl(api, client, 'v'.repeat(43)))));
  }
});

test('grants end with their client', async () => {
  const app = await addClient(api);
  const tokens = await tokensOf(api, app, { userId: org.userId, scope: OFFLINE });
  assert.equal((await api.call('DELETE', `/admin/v1/clients/${app.clientId}`)).status, 200);
  assert.equal(await statusWith(api, tokens.access_token), 401);
  const answer = await refresh(tokens.refresh_token, app);
  assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client']);
});

test('any process can serve any request', async (t) => {
  const deps = { ...api.deps, oauth: await openProvider(api.deps) };
  const server = await listen(buildApp(deps), { host: '127.0.0.1', port: 0 });
  t.after(() => server.stop(1000));
  const url = `http://127.0.0.1:${server.port}`;
  const there = { ...api, deps, url, call: callTo(url) };
  const flow = await codeFlow(api, client, { userId: org.userId });
  const { body } = await redeem(there, client, flow);
  assert.equal(decodeJwt(body.id_token).iss, api.url);
  assert.equal(await statusWith(api, body.access_token), 200);
  assert.equal((await refresh(body.refresh_token)).status, 200);
  assert.deepEqual((await there.call('GET', '/oauth/v2/keys')).body, (await api.call('GET', '/oauth/v2/keys')).body);
});

/** `api.call` to another address. */
function callTo(url: string): TestApi['call'] {
  return async (method, path, body, { headers } = {}) => {
    const response = await fetch(url + path, { method, ...(headers ? { headers } : {}), body: body as string });
    return { status: response.status, body: await response.json(), headers: response.headers };
  };
}

test('a session can always be found while its id changes', async () => {
  const { Session } = api.deps.oauth.current();
  const session = await Session.get({ req: { headers: {} }, res: {} } as never);
  session.accountId = org.userId;
  await session.save(100);
  const first = session.jti;
  session.resetIdentifier();
  const { destroy } = session.adapter;
  let meanwhile: unknown;
  session.adapter.destroy = async (id) => {
    meanwhile = await Session.findByUid(session.uid);
    return destroy(id);
  };
  await session.save(100);
  session.adapter.destroy = destroy;
  assert(meanwhile);
  assert.equal(await Session.find(first), undefined);
  assert.equal((await Session.find(session.jti))?.accountId, org.userId);
});

test('no row holds an issued value', async () => {
  const browser = new Browser();
  const flow = await codeFlow(api, client, { userId: org.userId, browser });
  const { rows: codes } = await api.deps.pool.query('select * from oauth_models');
  assert(!JSON.stringify(codes).includes(flow.code));
  const { body } = await redeem(api, client, flow);
  await browser.fetch(authorizeUrl(api, client, 'v'.repeat(43), { params: { prompt: 'login' } }));
  const text = JSON.stringify((await api.deps.pool.query('select * from oauth_models')).rows);
  const session = /=([^;]+)/.exec(browser.setCookie('muster_session') as string)?.[1] as string;
  for (const secret of [body.access_token, body.refresh_token, session]) assert(!text.includes(secret));
});

test('only expired rows are swept', async () => {
  const kept = await tokensOf(api, client, { userId: org.userId });
  await api.deps.pool.query(
    `insert into oauth_models (id_hash, kind, payload, expires_at)
     select int4send(n), 'Session', '{}', now() - interval '1 second' from generate_series(1, 10) n`,
  );
  assert((await sweepExpired(api.deps.pool)) >= 10);
  const { rows } = await api.deps.pool.query('select from oauth_models where expires_at < now()');
  assert.equal(rows.length, 0);
  assert.equal((await refresh(kept.refresh_token)).status, 200);
});

/** Runs `work` during an open transaction, and commits that once the work waits for it. */
async function during<T>(statement: string, value: string, work: () => Promise<T>): Promise<T> {
  const { pool } = api.deps;
  const holder = await pool.connect();
  try {
    await holder.query('begin');
    await holder.query(statement, [value]);
    const working = work();
    await waitFor(
      async () => {
        const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return (await pool.query(waiting)).rowCount;
      },
      { what: 'the work to wait for the row' },
    );
    await holder.query('commit');
    return await working;
  } finally {
    holder.release();
  }
}

test('no token is issued while its user is being locked or its grant revoked', async () => {
  const { userId } = await api.setupOrg();
  const tokens = await tokensOf(api, client, { userId, scope: OFFLINE });
  const flow = await codeFlow(api, client, { userId });
  const lock = `update users set state = 'locked' where id = $1`;
  const answer = await during(lock, userId, () => redeem(api, client, flow));
  assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_grant']);
  await api.deps.pool.query(`update users set state = 'active' where id = $1`, [userId]);
  const endGrant = `delete from oauth_models where kind = 'Grant' and user_id = $1`;
  const renewed = await during(endGrant, userId, () => refresh(tokens.refresh_token));
  assert.deepEqual([renewed.status, renewed.body.error], [400, 'invalid_grant']);
});
