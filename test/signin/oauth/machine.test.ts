import assert from 'node:assert/strict';
import { createPrivateKey, randomUUID } from 'node:crypto';
import test, { after, before } from 'node:test';
import { createRemoteJWKSet, decodeJwt, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { API_SCOPE, addClient, post, statusWith, type TestClient, tokenCall } from '../../support/oauth.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
});
after(() => api.stop());

interface Machine {
  userId: string;
  keyId: string;
  /** PEM */
  key: string;
}

/** A machine user with a role and a key. */
async function machineWithKey(fields: Record<string, unknown> = {}): Promise<Machine> {
  const { userId } = await machineUser(fields);
  const { body } = await api.call('POST', `/management/v1/users/${encodeURIComponent(userId)}/keys`, {});
  return JSON.parse(Buffer.from(body.keyDetails, 'base64').toString());
}

async function machineUser(fields: Record<string, unknown> = {}): Promise<{ userId: string }> {
  const name = unique('machine');
  const options = { orgId: org.orgId };
  const made = await api.call('POST', '/management/v1/users/machine', { userName: name, name, ...fields }, options);
  const { userId } = made.body;
  await api.call('POST', '/management/v1/orgs/me/members', { userId, roles: ['ORG_OWNER'] }, options);
  return { userId };
}

/** A machine user as a client. */
async function machineWithSecret(fields: Record<string, unknown> = {}): Promise<TestClient> {
  const { userId } = await machineUser(fields);
  return (await api.call('PUT', `/management/v1/users/${userId}/secret`)).body;
}

function assertion(machine: Machine, claims: JWTPayload = {}, header: Record<string, unknown> = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const { userId: id, keyId: kid } = machine;
  return new SignJWT({ iss: id, sub: id, aud: api.url, iat: now, exp: now + 3600, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid, ...header })
    .sign(createPrivateKey(machine.key));
}

const grant = async (machine: Machine, scope = `openid ${API_SCOPE}`, claims?: JWTPayload) =>
  tokenCall(api, { grant_type: JWT_BEARER, assertion: await assertion(machine, claims), scope });

test('a signed assertion gets an access token, without client authentication', async () => {
  const machine = await machineWithKey();
  const { status, body } = await grant(machine);
  assert.deepEqual(
    [status, body.token_type, body.expires_in, body.scope],
    [200, 'Bearer', 3600, `openid ${API_SCOPE}`],
  );
  assert.equal(await statusWith(api, body.access_token), 200);
  const info = await api.call('GET', '/oidc/v1/userinfo', undefined, { token: body.access_token });
  const claims = { sub: machine.userId, 'urn:service:iam:user:resourceowner:id': org.orgId };
  assert.deepEqual([info.status, info.body], [200, claims]);
});

test('the client id of an assertion does not matter, as the assertion identifies the caller', async () => {
  const machine = await machineWithKey();
  for (const clientId of [machine.userId, 'whatever', '\0']) {
    const form = { grant_type: JWT_BEARER, assertion: await assertion(machine), client_id: clientId };
    assert.equal((await tokenCall(api, form)).status, 200);
  }
});

test('the token endpoint is also a valid audience, as are several audiences', async () => {
  const machine = await machineWithKey();
  for (const aud of [`${api.url}/oauth/v2/token`, ['https://other.example', api.url]]) {
    assert.equal((await grant(machine, API_SCOPE, { aud })).status, 200);
  }
});

test('an invalid assertion is refused with the reason', async () => {
  const machine = await machineWithKey();
  const now = Math.floor(Date.now() / 1000);
  for (const [claims, words] of [
    [{ exp: now - 60 }, /has expired/],
    [{ exp: undefined }, /must have an "exp"/],
    [{ exp: now + 3700 }, /within an hour/],
    [{ iat: now + 120 }, /in the future/],
    [{ iat: now - 4000 }, /more than an hour ago/],
    [{ nbf: now + 120 }, /not valid yet/],
    [{ aud: 'https://other.example' }, /"aud"/],
    [{ iss: 'somebody' }, /grant request is invalid/],
    [{ sub: 'somebody' }, /grant request is invalid/],
  ] as const) {
    const { status, body } = await grant(machine, API_SCOPE, claims as JWTPayload);
    assert.deepEqual([status, body.error], [400, 'invalid_grant']);
    assert.match(body.error_description, words);
  }
});

test('an assertion without a known key is refused', async () => {
  const machine = await machineWithKey();
  const other = await machineWithKey();
  const hs256 = await new SignJWT({ iss: machine.userId, sub: machine.userId, aud: api.url })
    .setProtectedHeader({ alg: 'HS256', kid: machine.keyId })
    .setExpirationTime('1h')
    .sign(Buffer.from(machine.key));
  const none = `${Buffer.from(`{"alg":"none","kid":"${machine.keyId}"}`).toString('base64url')}.e30.`;
  const signedByOther = await assertion({ ...machine, key: other.key });
  const nobodysKey = await assertion({ ...machine, keyId: randomUUID() });
  const othersKey = await assertion({ ...machine, keyId: other.keyId, key: other.key });
  const noKid = await assertion(machine, {}, { kid: undefined });
  for (const bad of [hs256, none, signedByOther, nobodysKey, othersKey, noKid, 'x', 'a.b.c', '\0']) {
    const { status, body } = await tokenCall(api, { grant_type: JWT_BEARER, assertion: bad });
    assert.deepEqual([status, body.error], [400, 'invalid_grant'], bad.slice(0, 30));
  }
  const missing = await tokenCall(api, { grant_type: JWT_BEARER });
  assert.deepEqual([missing.status, missing.body.error], [400, 'invalid_request']);
});

test('an expired or removed key is refused, as is the key of an inactive user', async () => {
  const machine = await machineWithKey();
  const before = (await grant(machine)).body.access_token;
  const refusedThen = async () => assert.equal((await grant(machine)).body.error, 'invalid_grant');
  const setExpiry = (expiry: string) =>
    api.deps.pool.query(`update machine_keys set expires_at = ${expiry} where id = $1`, [machine.keyId]);
  await setExpiry(`now() - interval '1 second'`);
  await refusedThen();
  await setExpiry('null');
  assert.equal((await grant(machine)).status, 200);
  assert.equal((await api.call('POST', `/v2beta/users/${machine.userId}/lock`)).status, 200);
  await refusedThen();
  assert.equal(await statusWith(api, before), 401);
  await api.call('POST', `/v2beta/users/${machine.userId}/unlock`);
  assert.equal(await statusWith(api, before), 401, 'a revoked token does not come back');
  const path = `/management/v1/users/${machine.userId}/keys/${machine.keyId}`;
  assert.equal((await api.call('DELETE', path)).status, 200);
  await refusedThen();
});

test('client credentials of a machine user get an access token', async () => {
  const machine = await machineWithSecret();
  const form = { grant_type: 'client_credentials', scope: `openid ${API_SCOPE}` };
  const { status, body } = await tokenCall(api, form, machine);
  assert.equal(status, 200);
  assert.equal(await statusWith(api, body.access_token), 200);
  const { clientId, clientSecret } = machine as Required<TestClient>;
  const posted = await tokenCall(api, { ...form, client_id: clientId, client_secret: clientSecret });
  assert.equal(await statusWith(api, posted.body.access_token), 200);
});

test('a wrong, removed or replaced secret is refused', async () => {
  const machine = await machineWithSecret();
  const form = { grant_type: 'client_credentials' };
  const refused = async (client: TestClient) => {
    const { status, body, headers } = await tokenCall(api, form, client);
    assert.deepEqual([status, body.error], [401, 'invalid_client']);
    assert.match(headers.get('www-authenticate') as string, /^Basic /);
  };
  await refused({ ...machine, clientSecret: `${machine.clientSecret}x` });
  await refused({ ...machine, clientId: 'nobody' });
  const again = (await api.call('PUT', `/management/v1/users/${machine.clientId}/secret`)).body;
  await refused(machine);
  assert.equal((await tokenCall(api, form, again)).status, 200);
  assert.equal((await api.call('DELETE', `/management/v1/users/${machine.clientId}/secret`)).status, 200);
  await refused(again);
});

test('scopes that are not allowed are refused by name', async () => {
  const machine = await machineWithSecret();
  for (const scope of ['nonsense', `${API_SCOPE} nonsense`, 'offline_access']) {
    const { status, body } = await tokenCall(api, { grant_type: 'client_credentials', scope }, machine);
    assert.deepEqual([status, body.error], [400, 'invalid_scope']);
    assert.equal(body.scope, scope.split(' ').at(-1));
  }
  const { body } = await tokenCall(api, { grant_type: 'client_credentials' }, machine);
  assert.deepEqual([body.scope, await statusWith(api, body.access_token)], [undefined, 401]);
});

test('a registered client may act for itself, but has no rights on the API', async () => {
  const client = await addClient(api, { grantTypes: ['client_credentials'], redirectUris: [] });
  const { status, body } = await tokenCall(api, { grant_type: 'client_credentials', scope: 'openid' }, client);
  assert.equal(status, 200);
  assert.equal(await statusWith(api, body.access_token), 401);
  const looked = await post(api, '/oauth/v2/introspect', { token: body.access_token }, client);
  assert.deepEqual([looked.body.active, looked.body.client_id], [true, client.clientId]);
  const refused = await tokenCall(api, { grant_type: 'client_credentials', scope: API_SCOPE }, client);
  assert.equal(refused.body.error, 'invalid_scope');
});

test('a client cannot use a grant type that it is not registered for, nor an unknown one', async () => {
  const client = await addClient(api);
  const answer = await tokenCall(api, { grant_type: 'client_credentials' }, client);
  assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_request']);
  const unknown = await tokenCall(api, { grant_type: 'password', username: 'a', password: 'b' }, client);
  assert.deepEqual([unknown.status, unknown.body.error], [400, 'unsupported_grant_type']);
});

test('a machine user with the id of a client is not that client', async () => {
  const client = await addClient(api, { grantTypes: ['client_credentials'], redirectUris: [] });
  const { clientSecret } = await machineWithSecret({ userId: client.clientId });
  const form = { grant_type: 'client_credentials' };
  assert.equal((await tokenCall(api, form, { ...client, clientSecret: clientSecret as string })).status, 401);
  assert.equal((await tokenCall(api, form, client)).body.scope, undefined);
});

const jwtMachine = { accessTokenType: 'ACCESS_TOKEN_TYPE_JWT' };

test('a machine user with that access token type gets JWTs in the form of RFC 9068', async () => {
  const machine = await machineWithKey(jwtMachine);
  const { body } = await grant(machine);
  const keys = createRemoteJWKSet(new URL(`${api.url}/oauth/v2/keys`));
  const { payload } = await jwtVerify(body.access_token, keys, { issuer: api.url, audience: api.url, typ: 'at+jwt' });
  const { iat, exp, jti, ...claims } = payload;
  assert.deepEqual(claims, {
    iss: api.url,
    aud: api.url,
    sub: machine.userId,
    client_id: 'urn:service:iam:service-user',
    scope: `openid ${API_SCOPE}`,
  });
  assert.equal((exp as number) - (iat as number), 3600);
  assert(jti);
  assert.equal(await statusWith(api, body.access_token), 200);
  const info = await api.call('GET', '/oidc/v1/userinfo', undefined, { token: body.access_token });
  assert.equal(info.body.sub, machine.userId);
  assert.equal(await statusWith(api, jti as string), 401, 'the id of a token is not a token');
});

test('a JWT from client credentials works too, and ends with its user', async () => {
  const machine = await machineWithSecret(jwtMachine);
  const { body } = await tokenCall(api, { grant_type: 'client_credentials', scope: API_SCOPE }, machine);
  assert.equal(decodeJwt(body.access_token).client_id, machine.clientId);
  assert.equal(await statusWith(api, body.access_token), 200);
  await api.call('POST', `/v2beta/users/${machine.clientId}/deactivate`);
  assert.equal(await statusWith(api, body.access_token), 401);
});

test('a JWT that we did not issue is 401, whatever its signature', async () => {
  const machine = await machineWithKey(jwtMachine);
  const { access_token: token } = (await grant(machine)).body;
  const [header, payload, signature] = token.split('.');
  const own = await new SignJWT(decodeJwt(token)).setProtectedHeader({ alg: 'RS256', typ: 'at+jwt' });
  const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
  for (const forged of [
    `${none}.${payload}.`,
    `${header}.${payload}.${signature.slice(1)}`,
    `${header}.${payload}.`,
    await own.sign(createPrivateKey(machine.key)),
    await assertion(machine),
  ]) {
    assert.equal(await statusWith(api, forged), 401);
  }
});
