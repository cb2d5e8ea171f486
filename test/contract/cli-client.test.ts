/** The built-in client of the command line: what it may do, and what nobody may do with it. */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { CLI_CLIENT, CLI_SCOPE } from '../../src/contract/own-clients.ts';
import { type SetUp, startApi, type TestApi } from '../support/api.ts';
import { authorizeUrl, Browser, codeFlow, redeem, statusWith, tokenCall } from '../support/oauth.ts';

const clientId = CLI_CLIENT.client_id;

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
});
after(() => api.stop());

test('it gets a code on any port of the loopback address, and API tokens that can be refreshed', async () => {
  for (const port of [1024, 51234]) {
    const client = { clientId, redirectUri: `http://127.0.0.1:${port}/callback` };
    const flow = await codeFlow(api, client, { userId: org.userId, scope: CLI_SCOPE });
    const { status, body } = await redeem(api, client, flow);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.scope, CLI_SCOPE);
    assert.equal(await statusWith(api, body.access_token), 200);
    const again = await tokenCall(api, { grant_type: 'refresh_token', refresh_token: body.refresh_token }, client);
    assert.notEqual(again.body.refresh_token, body.refresh_token);
  }
});

test('its code is sent nowhere else', async () => {
  for (const redirectUri of [
    'http://127.0.0.1:5000/other',
    'https://127.0.0.1:5000/callback',
    'http://localhost:5000/callback',
    'http://[::1]:5000/callback',
    'http://127.0.0.2:5000/callback',
    'http://127.0.0.1.evil.example/callback',
    'https://evil.example/callback',
  ]) {
    const page = await new Browser().fetch(authorizeUrl(api, { clientId, redirectUri }, 'v'.repeat(43)));
    assert.equal(page.status, 400, redirectUri);
    assert.equal(page.headers.get('location'), null);
  }
});

test('it needs PKCE, and gets no token for itself', async () => {
  const client = { clientId, redirectUri: 'http://127.0.0.1:5000/callback' };
  const url = authorizeUrl(api, client, 'v'.repeat(43), { params: { code_challenge: '' } });
  const location = (await new Browser().fetch(url)).headers.get('location') as string;
  assert.equal(new URL(location).searchParams.get('error'), 'invalid_request');
  const own = await tokenCall(api, { grant_type: 'client_credentials' }, client);
  assert.equal(own.body.error, 'invalid_request');
});

test('it cannot be removed, and is in no list', async () => {
  assert.equal((await api.call('DELETE', `/admin/v1/clients/${clientId}`)).status, 404);
  assert.deepEqual((await api.call('GET', '/admin/v1/clients')).body.result, []);
});
