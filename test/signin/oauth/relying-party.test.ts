/** The token endpoint and others through `openid-client`, a certified relying party; code flow in test/browser. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import test, { after, before } from 'node:test';
import { SignJWT } from 'jose';
import * as oidc from 'openid-client';
import { type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { API_SCOPE, addClient } from '../../support/oauth.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
});
after(() => api.stop());

/** The only special setting is that loopback is used without TLS. */
const discover = (clientId: string, auth?: string | oidc.ClientAuth) =>
  oidc.discovery(
    new URL(api.url),
    clientId,
    undefined,
    typeof auth === 'string' ? oidc.ClientSecretBasic(auth) : auth,
    {
      execute: [oidc.allowInsecureRequests],
    },
  );

async function machineUser(accessTokenType: string): Promise<string> {
  const name = unique('machine');
  const options = { orgId: org.orgId };
  const fields = { userName: name, name, accessTokenType };
  const { userId } = (await api.call('POST', '/management/v1/users/machine', fields, options)).body;
  await api.call('POST', '/management/v1/orgs/me/members', { userId, roles: ['ORG_OWNER'] }, options);
  return userId;
}

async function callsTheApi(config: oidc.Configuration, token: string): Promise<void> {
  const url = new URL(`${api.url}/management/v1/orgs/me`);
  const answer = await oidc.fetchProtectedResource(config, token, url, 'GET');
  assert.equal(answer.status, 200);
}

for (const accessTokenType of ['ACCESS_TOKEN_TYPE_BEARER', 'ACCESS_TOKEN_TYPE_JWT']) {
  test(`a service user by a signed JWT, ${accessTokenType}`, async () => {
    const userId = await machineUser(accessTokenType);
    const made = await api.call('POST', `/management/v1/users/${userId}/keys`, {});
    const { keyId, key } = JSON.parse(Buffer.from(made.body.keyDetails, 'base64').toString());
    const config = await discover(userId, oidc.None());
    const assertion = await new SignJWT()
      .setProtectedHeader({ alg: 'RS256', kid: keyId })
      .setIssuer(userId)
      .setSubject(userId)
      .setAudience(config.serverMetadata().issuer)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(createPrivateKey(key));
    const parameters = { assertion, scope: `openid ${API_SCOPE}` };
    const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    const tokens = await oidc.genericGrantRequest(config, grant, parameters);
    await callsTheApi(config, tokens.access_token);
    assert.equal((await oidc.fetchUserInfo(config, tokens.access_token, userId)).sub, userId);
  });

  test(`a service user by client credentials, ${accessTokenType}`, async () => {
    const userId = await machineUser(accessTokenType);
    const { clientId, clientSecret } = (await api.call('PUT', `/management/v1/users/${userId}/secret`)).body;
    for (const auth of [oidc.ClientSecretBasic(clientSecret), oidc.ClientSecretPost(clientSecret)]) {
      const config = await discover(clientId, auth);
      const tokens = await oidc.clientCredentialsGrant(config, { scope: API_SCOPE });
      await callsTheApi(config, tokens.access_token);
      const seen = await oidc.tokenIntrospection(config, tokens.access_token);
      assert.deepEqual([seen.active, seen.sub, seen.scope], [true, userId, API_SCOPE]);
      await oidc.tokenRevocation(config, tokens.access_token);
      assert.equal((await oidc.tokenIntrospection(config, tokens.access_token)).active, false);
      await assert.rejects(callsTheApi(config, tokens.access_token), oidc.WWWAuthenticateChallengeError);
    }
  });
}

test('a resource server introspects personal access tokens', async () => {
  const { clientId, clientSecret } = await addClient(api, { grantTypes: ['client_credentials'], redirectUris: [] });
  const config = await discover(clientId, clientSecret);
  const { userId, token } = await api.machine(org.orgId);
  assert.equal((await oidc.tokenIntrospection(config, token)).sub, userId);
});

test('both discovery documents exist', async () => {
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    const options = { algorithm, execute: [oidc.allowInsecureRequests] };
    const config = await oidc.discovery(new URL(api.url), 'x', undefined, undefined, options);
    assert.equal(config.serverMetadata().issuer, api.url);
    assert.equal(config.serverMetadata().supportsPKCE(), true);
  }
});
