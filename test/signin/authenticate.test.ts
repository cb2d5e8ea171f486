import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import express from 'express';
import { renderErrors } from '../../src/platform/http/errors.ts';
import { requestId } from '../../src/platform/http/requests.ts';
import { listen } from '../../src/platform/http/server.ts';
import { authenticateIfPresent } from '../../src/signin/authenticate.ts';
import { type Answer, errorId, type SetUp, startApi, type TestApi } from '../support/api.ts';
import { API_SCOPE, addClient, tokensOf } from '../support/oauth.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
});
after(() => api.stop());

const me = (token: string | null, headers = {}) =>
  api.call('GET', '/management/v1/orgs/me', undefined, { token, headers });

const challengeOf = (answer: Answer) => answer.headers.get('www-authenticate') ?? '';

async function assertRefused(token: string): Promise<void> {
  const answer = await me(token);
  assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [401, 16, 'AUTH-TOKEN']);
  assert.match(challengeOf(answer), /^Bearer error="invalid_token", error_description="[ -~]+"$/);
}

test('a valid token is accepted, with the scheme in any case', async () => {
  const { token } = await api.machine(org.orgId, ['ORG_OWNER']);
  assert.equal((await me(token)).status, 200);
  for (const scheme of ['bearer', 'BEARER']) {
    assert.equal((await me(null, { authorization: `${scheme} ${token}` })).status, 200);
  }
});

test('anything else in the header is 401', async () => {
  const { token } = await api.machine(org.orgId, ['ORG_OWNER']);
  for (const authorization of [
    token,
    `Basic ${token}`,
    'Bearer',
    `Bearer ${token} x`,
    `Bearer ${token}x`,
    `Bearer ${'x'.repeat(5000)}`,
  ]) {
    const answer = await me(null, { authorization });
    assert.equal(answer.status, 401, authorization.slice(0, 20));
    // RFC 6750 section 3.1: no error code for a client that did not send a bearer token.
    const expected = /^bearer\b/i.test(authorization) ? /^Bearer error="invalid_token"/ : /^Bearer$/;
    assert.match(challengeOf(answer), expected);
  }
  assert.equal(challengeOf(await me(null)), 'Bearer');
});

test('a token without the scope of the API says so', async () => {
  const client = await addClient(api);
  const without = { userId: org.userId, scope: 'openid' };
  const refused = await me((await tokensOf(api, client, without)).access_token);
  assert.deepEqual([refused.status, refused.body.code, errorId(refused)], [401, 16, 'AUTH-SCOPE']);
  assert.match(refused.body.message, new RegExp(API_SCOPE));
  assert.match(challengeOf(refused), new RegExp(`^Bearer error="insufficient_scope".* scope="${API_SCOPE}"$`));

  const { access_token: token } = await tokensOf(api, client, { userId: org.userId, scope: 'openid' });
  await api.deps.pool.query(`update users set state = 'locked' where id = $1`, [org.userId]);
  await assertRefused(token); // only the holder of a valid token learns more
  await api.deps.pool.query(`update users set state = 'active' where id = $1`, [org.userId]);
});

test('a revoked token is 401 with the next call', async () => {
  const { userId, token } = await api.machine(org.orgId, ['ORG_OWNER']);
  const pats = `/management/v1/users/${userId}/pats`;
  const { tokenId } = (await api.call('GET', pats)).body.result[0];
  assert.equal((await me(token)).status, 200);
  assert.equal((await api.call('DELETE', `${pats}/${tokenId}`)).status, 200);
  await assertRefused(token);
});

test('an expired token is 401', async () => {
  const { userId, token } = await api.machine(org.orgId, ['ORG_OWNER']);
  await api.deps.pool.query(
    `update personal_access_tokens set expires_at = now() - interval '1 second' where user_id = $1`,
    [userId],
  );
  await assertRefused(token);
  await api.deps.pool.query(
    `update personal_access_tokens set expires_at = now() + interval '1 hour' where user_id = $1`,
    [userId],
  );
  assert.equal((await me(token)).status, 200);
});

test('the token of a user who is not active is 401', async () => {
  const { userId, token } = await api.machine(org.orgId, ['ORG_OWNER']);
  for (const state of ['inactive', 'locked', 'initial']) {
    await api.deps.pool.query('update users set state = $2 where id = $1', [userId, state]);
    await assertRefused(token);
  }
  await api.deps.pool.query(`update users set state = 'active' where id = $1`, [userId]);
  assert.equal((await me(token)).status, 200);
});

test('the token of a deleted user is 401', async () => {
  const { userId, token } = await api.machine(org.orgId, ['ORG_OWNER']);
  assert.equal((await api.call('DELETE', `/v2beta/users/${userId}`)).status, 200);
  await assertRefused(token);
});

test('a token is stored only as a hash', async () => {
  const { token } = await api.machine(org.orgId);
  const { rows } = await api.deps.pool.query('select t.* from personal_access_tokens t');
  assert(rows.every((row) => row.token_hash.length === 32));
  assert(!rows.some((row) => JSON.stringify(row).includes(token) || row.token_hash.includes(token)));
});

test('where a caller is optional, a request without one is accepted and a bad token is 401', async (t) => {
  const app = express().use(requestId(), authenticateIfPresent(api.deps));
  app.get('/', (_req, res) => {
    res.json({ userId: res.locals.caller?.userId ?? null });
  });
  app.use(renderErrors(api.deps.logger));
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  t.after(() => server.stop(1000));
  const get = (headers: Record<string, string>) => fetch(`http://127.0.0.1:${server.port}/`, { headers });
  assert.deepEqual(await (await get({})).json(), { userId: null });
  const { userId, token } = await api.machine(org.orgId);
  assert.deepEqual(await (await get({ authorization: `Bearer ${token}` })).json(), { userId });
  assert.equal((await get({ authorization: 'Bearer wrong' })).status, 401);
});
