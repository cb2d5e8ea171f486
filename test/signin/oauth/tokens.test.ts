import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import {
  API_SCOPE,
  addClient,
  type Form,
  post,
  statusWith,
  type TestClient,
  tokenCall,
  tokensOf,
} from '../../support/oauth.ts';

let api: TestApi;
let org: SetUp;
let client: TestClient;
/** A resource server: a client with a secret that introspects tokens. */
let resource: TestClient;
let spa: TestClient;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  client = await addClient(api);
  resource = await addClient(api, { grantTypes: ['client_credentials'], redirectUris: [] });
  spa = await addClient(api, { authMethod: 'none' });
});
after(() => api.stop());

const introspect = async (token: string, by = resource, more: Form = {}) =>
  (await post(api, '/oauth/v2/introspect', { token, ...more }, by)).body;
const revoke = (token: string, by: Omit<TestClient, 'redirectUri'>, more: Form = {}) =>
  post(api, '/oauth/v2/revoke', { token, ...more }, by);

/** A machine user as a client, with an access token. */
async function machine(accessTokenType: string): Promise<{ client: TestClient; token: string }> {
  const name = unique('machine');
  const fields = { userName: name, name, accessTokenType };
  const { userId } = (await api.call('POST', '/management/v1/users/machine', fields, { orgId: org.orgId })).body;
  const client = (await api.call('PUT', `/management/v1/users/${userId}/secret`)).body;
  await api.call('POST', '/management/v1/orgs/me/members', { userId, roles: ['ORG_OWNER'] }, { orgId: org.orgId });
  const { body } = await tokenCall(api, { grant_type: 'client_credentials', scope: API_SCOPE }, client);
  return { client, token: body.access_token };
}

const OPAQUE = 'ACCESS_TOKEN_TYPE_BEARER';
const JWT = 'ACCESS_TOKEN_TYPE_JWT';

test('a resource server introspects the user and scope of an access token', async () => {
  const { access_token: token } = await tokensOf(api, client, { userId: org.userId });
  for (const hint of ['access_token', 'refresh_token', 'nonsense']) {
    const { iat, exp, auth_time, ...seen } = await introspect(token, resource, { token_type_hint: hint });
    assert.deepEqual(seen, {
      active: true,
      sub: org.userId,
      client_id: client.clientId,
      iss: api.url,
      scope: `openid ${API_SCOPE}`,
      token_type: 'Bearer',
    });
    assert.equal(exp - iat, 3600);
    assert.ok(iat - auth_time < 60, `${iat} ${auth_time}`);
  }
});

test('tokens of machine users are introspected the same way, opaque and JWT', async () => {
  for (const type of [OPAQUE, JWT]) {
    const { client: self, token } = await machine(type);
    for (const by of [resource, self]) {
      const { active, sub, scope } = await introspect(token, by);
      assert.deepEqual([active, sub, scope], [true, self.clientId, API_SCOPE]);
    }
  }
});

test('a personal access token is introspected like any other, and is inactive once it is removed', async () => {
  const { userId, token } = await api.machine(org.orgId);
  const { iat, ...seen } = await introspect(token);
  assert.deepEqual(seen, {
    active: true,
    sub: userId,
    client_id: 'urn:service:iam:service-user',
    iss: api.url,
    scope: API_SCOPE,
    token_type: 'Bearer',
  });
  assert(Math.abs(iat - Date.now() / 1000) < 60);
  const expirationDate = new Date(Date.now() + 3_600_000).toISOString();
  const other = (await api.call('POST', `/management/v1/users/${userId}/pats`, { expirationDate })).body.token;
  assert.equal((await introspect(other)).exp, Math.floor(Date.parse(expirationDate) / 1000));
  const { result } = (await api.call('GET', `/management/v1/users/${userId}/pats`)).body;
  await api.call('DELETE', `/management/v1/users/${userId}/pats/${result[0].tokenId}`);
  assert.deepEqual(await introspect(token), { active: false });
  await api.call('POST', `/v2beta/users/${userId}/deactivate`);
  assert.deepEqual(await introspect(other), { active: false });
});

test('an invalid token is inactive, without further details', async () => {
  const tokens = await tokensOf(api, client, { userId: org.userId });
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln';
  for (const token of ['x', jwt, tokens.id_token, `${tokens.access_token}x`, 'eyJhbGciOiJub25lIn0', '\0']) {
    assert.deepEqual(await introspect(token), { active: false }, token);
  }
});

test('introspection requires credentials; a public client sees only its own tokens', async () => {
  const theirs = await tokensOf(api, client, { userId: org.userId });
  const own = await tokensOf(api, spa, { userId: org.userId });
  const { clientId } = client;
  assert.equal((await post(api, '/oauth/v2/introspect', { token: own.access_token })).status, 400);
  const pretended = await post(api, '/oauth/v2/introspect', { token: own.access_token, client_id: clientId });
  assert.deepEqual([pretended.status, pretended.body.error], [401, 'invalid_client']);
  assert.deepEqual(await introspect(theirs.access_token, spa), { active: false });
  assert.equal((await introspect(own.access_token, spa)).active, true);
});

test('only its own client introspects a refresh token', async () => {
  const { refresh_token: token } = await tokensOf(api, client, { userId: org.userId });
  assert.deepEqual(await introspect(token), { active: false });
  assert.equal((await introspect(token, client)).active, true);
});

test('a revoked access token is invalid', async () => {
  const { access_token: token } = await tokensOf(api, client, { userId: org.userId });
  assert.equal((await revoke(token, client)).status, 200);
  assert.equal(await statusWith(api, token), 401);
  assert.deepEqual(await introspect(token), { active: false });
});

test('revoking a refresh token also revokes the access tokens of its login', async () => {
  for (const app of [client, spa]) {
    const tokens = await tokensOf(api, app, { userId: org.userId, scope: `openid offline_access ${API_SCOPE}` });
    assert.equal((await revoke(tokens.refresh_token, app, { token_type_hint: 'refresh_token' })).status, 200);
    assert.equal(await statusWith(api, tokens.access_token), 401);
    const again = await tokenCall(api, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, app);
    assert.equal(again.body.error, 'invalid_grant');
  }
});

test('a machine user revokes its tokens, opaque and JWT', async () => {
  for (const type of [OPAQUE, JWT]) {
    const { client: self, token } = await machine(type);
    assert.equal(await statusWith(api, token), 200);
    assert.equal((await revoke(token, self)).status, 200);
    assert.equal(await statusWith(api, token), 401);
  }
});

test('clients revoke only their own tokens; an unknown token counts as revoked', async () => {
  const { access_token: token } = await tokensOf(api, client, { userId: org.userId });
  const refused = await revoke(token, resource);
  assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_request']);
  assert.equal((await revoke(token, spa)).status, 200);
  assert.equal(await statusWith(api, token), 200);
  for (const unknown of ['x', 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln']) {
    assert.equal((await revoke(unknown, client)).status, 200);
  }
});

test('a personal access token cannot be revoked here, and the error says so', async () => {
  const { token } = await api.machine(org.orgId, ['ORG_OWNER']);
  const { status, body } = await revoke(token, resource);
  assert.deepEqual([status, body.error], [400, 'unsupported_token_type']);
  assert.equal(await statusWith(api, token), 200);
});

test('every kind of token works on every part of the API', async () => {
  const { userId: owner } = await api.setupOrg();
  const human = await tokensOf(api, client, { userId: owner });
  const tokens = [human.access_token, (await machine(OPAQUE)).token, (await machine(JWT)).token];
  for (const token of tokens) {
    for (const [path, status] of [
      ['/management/v1/orgs/me', 200],
      ['/admin/v1/imports', 200],
      ['/v2beta/users/nobody', 403],
    ] as const) {
      assert.equal((await api.call('GET', path, undefined, { token })).status, status, path);
    }
  }
});

test('roles are read with each call, for every kind of token', async () => {
  const { client: self, token } = await machine(JWT);
  assert.equal(await statusWith(api, token), 200);
  await api.call('DELETE', `/management/v1/orgs/me/members/${self.clientId}`, undefined, { orgId: org.orgId });
  assert.equal(await statusWith(api, token), 403);
});
