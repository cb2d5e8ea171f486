/** Clients that were registered with a list of scopes get no others. */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { startApi, type TestApi } from '../../support/api.ts';
import { API_SCOPE, addClient, authorizeUrl, Browser, loginUid, tokenCall } from '../../support/oauth.ts';

const SCOPES = ['openid', 'email'];
let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

test('a login for another scope is refused, one for the scopes of the list is not', async () => {
  const client = await addClient(api, { scopes: SCOPES });
  const authorize = (scope: string) =>
    new Browser().fetch(authorizeUrl(api, client, 'v'.repeat(43), { params: { scope } }));
  assert(loginUid(await authorize('openid email')), 'the login page follows');
  for (const other of ['profile', API_SCOPE, 'urn:zitadel:iam:org:project:id:zitadel:aud']) {
    const { searchParams } = new URL((await authorize(`openid ${other}`)).headers.get('location') as string);
    assert.equal(searchParams.get('error'), 'invalid_scope', other);
  }
  const listed = (await api.call('GET', '/admin/v1/clients')).body.result;
  assert.deepEqual(listed.find((one: { clientId: string }) => one.clientId === client.clientId).scopes, SCOPES);
});

test('the client itself gets no other scope either', async () => {
  const client = await addClient(api, { grantTypes: ['client_credentials'], redirectUris: [], scopes: SCOPES });
  const ask = (scope: string) => tokenCall(api, { grant_type: 'client_credentials', scope }, client);
  assert.deepEqual([(await ask('email')).body.scope, (await ask('profile')).body.error], ['email', 'invalid_scope']);
  assert.equal((await ask(API_SCOPE)).body.error, 'invalid_scope', 'not even if it is in the list');
});
