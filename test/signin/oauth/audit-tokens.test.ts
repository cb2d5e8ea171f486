import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { addClient, Browser, codeFlow, post, redeem, type TestClient, tokenCall } from '../../support/oauth.ts';

let api: TestApi;
let org: SetUp;
let client: TestClient;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  client = await addClient(api);
});
after(() => api.stop());

const TOKENS = `select type, actor_kind, actor_id, user_id, org_id, client_id, payload, count, host(address) as address
  from audit_events where client_id = $1 and type like $2 order by sequence`;

async function events(clientId: string, type = 'oauth.%'): Promise<Record<string, unknown>[]> {
  return (await api.deps.pool.query(TOKENS, [clientId, type])).rows;
}

test('tokens that a client gets, refreshes and revokes are recorded with user, organization, client and grant', async () => {
  const flow = await codeFlow(api, client, { userId: org.userId });
  const { body } = await redeem(api, client, flow);
  const fresh = await tokenCall(api, { grant_type: 'refresh_token', refresh_token: body.refresh_token }, client);
  await post(api, '/oauth/v2/revoke', { token: fresh.body.access_token }, client);
  const found = await events(client.clientId);
  assert.deepEqual(
    found.map(({ type, payload }) => [type, (payload as { grantType?: string }).grantType]),
    [
      ['oauth.token.issued', 'authorization_code'],
      ['oauth.token.refreshed', 'refresh_token'],
      ['oauth.token.revoked', undefined],
    ],
  );
  for (const event of found) {
    assert.deepEqual([event.actor_kind, event.actor_id, event.user_id], ['human', org.userId, org.userId]);
    assert.deepEqual([event.org_id, event.address], [org.orgId, '127.0.0.1']);
  }
  assert(!JSON.stringify(found).includes(body.access_token));
});

test('a machine user and a client that act for themselves are the actors', async () => {
  const { userId } = await api.machine(org.orgId);
  const machine = (await api.call('PUT', `/management/v1/users/${userId}/secret`, {})).body;
  await tokenCall(api, { grant_type: 'client_credentials', scope: 'openid' }, machine);
  const [own] = await events(userId);
  assert.deepEqual([own?.actor_kind, own?.user_id, own?.org_id], ['machine', userId, org.orgId]);
  const app = await addClient(api, { grantTypes: ['client_credentials'], redirectUris: [] });
  await tokenCall(api, { grant_type: 'client_credentials' }, app);
  const [token] = await events(app.clientId);
  assert.deepEqual([token?.actor_kind, token?.actor_id, token?.user_id], ['client', app.clientId, null]);
});

test('refused token requests share a row; a device that waits is not refused', async () => {
  const app = await addClient(api);
  const wrong = { ...app, clientSecret: 'wrong' };
  for (let n = 0; n < 3; n++) await tokenCall(api, { grant_type: 'authorization_code', code: `guess-${n}` }, wrong);
  const found = await events(app.clientId);
  const sum = found.reduce((n, { count }) => n + Number(count), 0);
  assert.equal(sum, 3);
  assert(found.length <= 2, 'one row, or two if the minute ended meanwhile');
  const [refused] = found;
  assert.deepEqual([refused?.type, refused?.actor_kind], ['oauth.token.refused', 'anonymous']);
  const grantType = 'authorization_code';
  assert.deepEqual(refused?.payload, { reason: 'invalid_client', grantType });
  const device = { client_id: 'muster-cli', scope: 'openid' };
  const { device_code } = (await post(api, '/oauth/v2/device_authorization', device)).body;
  const poll = { client_id: 'muster-cli', grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code };
  assert.equal((await tokenCall(api, poll)).body.error, 'authorization_pending');
  assert.deepEqual(await events('muster-cli'), []);
});

test('a refused request is recorded whatever characters it has', async () => {
  for (const grantType of ['a\0b', `${'x'.repeat(99)}😀`, '\0'.repeat(200)]) {
    const answer = await tokenCall(api, { grant_type: grantType, client_id: 'no-such-client' });
    assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client'], JSON.stringify(answer.body));
  }
  const text = `select payload ->> 'grantType' as g from audit_events where type = 'oauth.token.refused' and payload ->> 'grantType' like 'a%b'`;
  const { rows } = await api.deps.pool.query(text);
  assert.deepEqual(rows, [{ g: 'a\ufffdb' }]);
});

test('a sign-out in the browser is recorded, and one that the user cancels is not', async () => {
  const browser = new Browser();
  await codeFlow(api, client, { userId: org.userId, browser });
  for (const [logout, expected] of [
    ['', 0],
    ['yes', 1],
  ] as const) {
    const page = await (await browser.fetch(`${api.url}/oidc/v1/end_session`)).text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const form = new URLSearchParams({ xsrf, ...(logout ? { logout } : {}) });
    await browser.fetch(`${api.url}/oidc/v1/end_session/confirm`, { method: 'POST', body: form });
    const { rows } = await api.deps.pool.query(`select actor_id from audit_events where type = 'user.signout'`);
    assert.deepEqual(
      rows.map((row) => row.actor_id),
      Array(expected).fill(org.userId),
    );
  }
});

test('no token is answered whose event cannot be stored', async () => {
  const { userId } = await api.machine(org.orgId);
  const machine = (await api.call('PUT', `/management/v1/users/${userId}/secret`, {})).body;
  await api.deps.pool.query('alter table audit_events rename to audit_events_away');
  try {
    const { status, body } = await tokenCall(api, { grant_type: 'client_credentials', scope: 'openid' }, machine);
    assert.equal(status, 500);
    assert.deepEqual(body, { error: 'server_error', error_description: 'An internal error occurred.' });
  } finally {
    await api.deps.pool.query('alter table audit_events_away rename to audit_events');
  }
});
