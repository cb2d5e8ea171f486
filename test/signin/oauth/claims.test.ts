/** The claims of users: the standard ones that imports bring, and those that a client reads beside them. */
import assert from 'node:assert/strict';
import test, { after, before, describe, it } from 'node:test';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { badFieldsOf, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { addClient, post, type TestClient, tokensOf } from '../../support/oauth.ts';

let api: TestApi;
let org: SetUp;
let resource: TestClient;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  resource = await addClient(api, { grantTypes: ['client_credentials'], redirectUris: [] });
});
after(() => api.stop());

const change = (client: TestClient, body: unknown) => api.call('PATCH', `/admin/v1/clients/${client.clientId}`, body);

async function clientWith(fields: Record<string, unknown>): Promise<TestClient> {
  const client = await addClient(api);
  const answer = await change(client, fields);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return client;
}

/** A user with metadata, as an import leaves them. */
async function userWith(metadata: Record<string, unknown>): Promise<string> {
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const entries = Object.entries(metadata).map(([key, value]) => {
    return { key, value: Buffer.from(text(value)).toString('base64') };
  });
  const name = unique('claims');
  const { status, body } = await api.call('POST', '/v2beta/users/human', {
    username: name,
    organization: { orgId: org.orgId },
    profile: { givenName: 'Mia', familyName: 'Moll' },
    email: { email: `${name}@example.com`, isVerified: true },
    metadata: entries,
  });
  assert.equal(status, 200, JSON.stringify(body));
  return body.userId;
}

interface Seen {
  idToken: Record<string, unknown>;
  userinfo: Record<string, unknown>;
  introspection: Record<string, unknown>;
  accessToken: string;
}

async function seenBy(client: TestClient, userId: string, scope = 'openid profile'): Promise<Seen> {
  const tokens = await tokensOf(api, client, { userId, scope });
  const accessToken = tokens.access_token as string;
  const userinfo = await api.call('GET', '/oidc/v1/userinfo', undefined, { token: accessToken });
  const introspection = await post(api, '/oauth/v2/introspect', { token: accessToken }, resource);
  return {
    accessToken,
    idToken: decodeJwt(tokens.id_token),
    userinfo: userinfo.body,
    introspection: introspection.body,
  };
}

test('a resource server that reads the roles of Keycloak finds them after a change of issuer alone', async () => {
  const client = await clientWith({ claimsPreset: 'keycloak' });
  const userId = await userWith({
    realmRoles: ['offline_access', 'accountant'],
    clientRoles: { shop: ['manage'], account: ['view-profile'] },
    groups: ['/staff', '/staff/north'],
  });
  const { accessToken, ...places } = await seenBy(client, userId);
  const keys = createRemoteJWKSet(new URL(`${api.url}/oauth/v2/keys`));
  const { payload } = await jwtVerify(accessToken, keys, {
    issuer: api.url,
    audience: client.clientId,
    typ: 'at+jwt',
    requiredClaims: ['exp', 'iat', 'jti', 'auth_time'],
  });
  for (const [place, claims] of Object.entries({ ...places, payload })) {
    assert.equal(claims.sub, userId, place);
    assert.deepEqual(claims.realm_access, { roles: ['offline_access', 'accountant'] }, place);
    const resources = { shop: { roles: ['manage'] }, account: { roles: ['view-profile'] } };
    assert.deepEqual(claims.resource_access, resources, place);
    assert.deepEqual(claims.groups, ['/staff', '/staff/north'], place);
  }
  assert.match(String(payload.preferred_username), /^claims/);
});

test('a JWT of a user ends with the user', async () => {
  const client = await clientWith({ accessTokenType: 'jwt' });
  const userId = await userWith({});
  const { accessToken, introspection } = await seenBy(client, userId);
  assert.equal(introspection.active, true);
  assert.equal((await api.call('POST', `/v2beta/users/${userId}/deactivate`, {})).status, 200);
  assert.deepEqual((await post(api, '/oauth/v2/introspect', { token: accessToken }, resource)).body, { active: false });
  assert.equal((await api.call('GET', '/oidc/v1/userinfo', undefined, { token: accessToken })).status, 401);
});

describe('a preset', () => {
  const cases: [preset: string, metadata: Record<string, unknown>, expected: Record<string, unknown>][] = [
    [
      'auth0',
      { app_metadata: { plan: 'gold', roles: ['admin'] }, user_metadata: { color: 'red' } },
      {
        'NS/app_metadata': { plan: 'gold', roles: ['admin'] },
        'NS/user_metadata': { color: 'red' },
        'NS/roles': ['admin'],
      },
    ],
    [
      'cognito',
      { 'cognito:groups': ['blue'], 'custom:plan': 'gold' },
      { 'cognito:groups': ['blue'], 'custom:plan': 'gold' },
    ],
    [
      'firebase',
      { customAttributes: { admin: true, level: 7 }, tenantId: 'north' },
      { admin: true, level: 7, firebase: { tenant: 'north' } },
    ],
    [
      'supabase',
      { app_metadata: { role: 'editor' }, user_metadata: { city: 'Bern' } },
      { app_metadata: { role: 'editor' }, user_metadata: { city: 'Bern' }, role: 'authenticated' },
    ],
  ];
  for (const [preset, metadata, expected] of cases) {
    it(`${preset} gives the claims that its tokens have`, async () => {
      const { idToken } = await seenBy(await clientWith({ claimsPreset: preset }), await userWith(metadata));
      for (const [name, value] of Object.entries(expected)) {
        assert.deepEqual(idToken[name.replace('NS', api.deps.config.baseUrl)], value, name);
      }
    });
  }

  it('auth0 takes the namespace that the application reads', async () => {
    const client = await clientWith({ claimsPreset: 'auth0', claimsNamespace: 'https://acme.example/' });
    const { idToken } = await seenBy(client, await userWith({ app_metadata: { plan: 'gold' } }));
    assert.deepEqual(idToken['https://acme.example/app_metadata'], { plan: 'gold' });
  });
});

describe('a claim', () => {
  it('is given only where its client says so, and to no other client', async () => {
    const claims = [
      { claim: 'dep', from: 'metadata.department', in: ['id_token'] },
      { claim: 'org.name', from: 'org.name', in: ['userinfo'] },
      { claim: 'rights', from: 'roles', in: ['introspection'] },
      { claim: 'plan', from: 'metadata.app#/a~1b/0', in: ['id_token'], default: 'none' },
    ];
    const client = await clientWith({ claims });
    const userId = await userWith({ department: 'north', app: { 'a/b': ['gold'] } });
    const { idToken, userinfo, introspection } = await seenBy(client, userId);
    assert.deepEqual([idToken.dep, idToken.plan, idToken.org, idToken.rights], ['north', 'gold', undefined, undefined]);
    assert.equal(typeof (userinfo.org as { name: string }).name, 'string');
    assert.deepEqual([userinfo.dep, introspection.dep], [undefined, undefined]);
    assert.equal(introspection.rights, undefined, 'a user without roles');
    assert.deepEqual((await seenBy(client, org.userId)).introspection.rights, ['ORG_OWNER']);
    assert.equal((await seenBy(client, org.userId)).idToken.plan, 'none');
    const other = await seenBy(await addClient(api), userId);
    assert.deepEqual([other.idToken.dep, other.userinfo.org], [undefined, undefined]);
  });

  it('never says who the user is or how they signed in, whatever the metadata contain', async () => {
    const hostile = {
      ...{ sub: 'admin', iss: 'https://evil.example', aud: 'bank', exp: 1, iat: 2, nonce: 'n', azp: 'bank' },
      ...{ email: 'ceo@acme.example', email_verified: true, amr: ['hwk'], acr: 'urn:high', auth_time: 1 },
      ...{ active: true, client_id: 'bank', scope: 'admin', ['__proto__']: { admin: true }, kind: 'kept' },
    };
    const json = JSON.stringify(hostile).replace('{', '{"__proto__":{"admin":true},');
    const userId = await userWith({ customAttributes: json, email: 'ceo@acme.example', sub: 'admin' });
    const plain = await seenBy(await addClient(api), userId);
    const client = await clientWith({ claimsPreset: 'firebase', accessTokenType: 'jwt' });
    const seen = await seenBy(client, userId);
    for (const place of ['idToken', 'userinfo', 'introspection'] as const) {
      const kept = Object.keys(hostile).filter((name) => !['kind', 'exp', 'iat', 'auth_time', 'aud'].includes(name));
      for (const name of kept) {
        const expected = name === 'client_id' && place === 'introspection' ? client.clientId : plain[place][name];
        if (name !== '__proto__') assert.deepEqual(seen[place][name], expected, `${place} ${name}`);
      }
      assert.equal(seen[place].kind, 'kept');
      assert.equal((seen[place] as { admin?: boolean }).admin, undefined);
    }
    const token = decodeJwt(seen.accessToken);
    assert.deepEqual(
      [token.sub, token.iss, token.aud, token.client_id],
      [userId, api.url, client.clientId, client.clientId],
    );
    assert.deepEqual([token.email, token.amr, token.acr], [undefined, undefined, undefined]);
  });

  it('that is reserved, unsafe or unknown is refused, and nothing of the request is stored', async () => {
    const client = await addClient(api);
    const refused = async (claims: unknown[]) => {
      const answer = await change(client, { name: 'Other', claims });
      assert.equal(answer.status, 400);
      return badFieldsOf(answer);
    };
    for (const claim of ['sub', 'email_verified', 'amr', 'sub.x', '__proto__', 'a..b', '', '*.*']) {
      assert.equal((await refused([{ claim, from: 'user.id' }])).length, 1, claim);
    }
    for (const from of ['password', 'metadata.', 'user.passwordHash', 'org.secret', 'toString']) {
      assert.equal((await refused([{ claim: 'x', from }])).length, 1, from);
    }
    assert.equal((await refused([{ claim: 'x', from: 'user.id', in: ['cookie'] }])).length, 1);
    assert.equal((await change(client, { claims: [], claimsPreset: 'keycloak' })).status, 400);
    assert.equal((await change(client, { claimsPreset: 'okta' })).status, 400);
    const listed = (await api.call('GET', '/admin/v1/clients')).body.result;
    const { name, claims } = listed.find((one: { clientId: string }) => one.clientId === client.clientId);
    assert.deepEqual([name, claims], ['Test application', []]);
  });

  it('that is too large ends the request with a reason', async () => {
    const client = await clientWith({ claims: [{ claim: 'big', from: 'metadata.big', in: ['userinfo'] }] });
    const { access_token: token } = await tokensOf(api, client, {
      userId: await userWith({ big: 'x'.repeat(20_000) }),
    });
    const { status, body } = await api.call('GET', '/oidc/v1/userinfo', undefined, { token });
    assert.equal(status, 400);
    assert.match(body.error_description, /have 200\d\d bytes, and at most 16384 are allowed/);
  });
});

test('standard claims are read from what imports keep, if they are valid', async () => {
  const client = await addClient(api);
  const userId = await userWith({
    ...{ picture: 'javascript:alert(1)', photoUrl: 'https://cdn.example/mia.png', birthdate: '1990-02-03' },
    ...{ zoneinfo: 'Europe/Zurich', address: { formatted: 'Gasse 1', secret: 'x' }, website: 'no address' },
  });
  const { userinfo } = await seenBy(client, userId, 'openid profile address');
  assert.equal(userinfo.picture, 'https://cdn.example/mia.png');
  assert.deepEqual(
    [userinfo.birthdate, userinfo.zoneinfo, userinfo.website],
    ['1990-02-03', 'Europe/Zurich', undefined],
  );
  assert.deepEqual(userinfo.address, { formatted: 'Gasse 1' });
  assert.equal((await seenBy(client, userId, 'openid')).userinfo.picture, undefined, 'only with its scope');
});

describe('a client', () => {
  it('keeps what a change leaves out, and may not contradict itself', async () => {
    const client = await clientWith({ name: 'Shop', redirectUris: ['https://shop.example/in'] });
    const answer = await change(client, { redirectUris: [] });
    assert.deepEqual([answer.status, answer.body.details[0].id], [400, 'CLIENT-INVALID']);
    const listed = (await api.call('GET', '/admin/v1/clients')).body.result;
    const found = listed.find((one: { clientId: string }) => one.clientId === client.clientId);
    assert.deepEqual(
      [found.name, found.redirectUris, found.grantTypes.length],
      ['Shop', ['https://shop.example/in'], 2],
    );
    assert.equal((await api.call('PATCH', '/admin/v1/clients/none', { name: 'X' })).status, 404);
  });
});
