/** CLI_LOGIN: the command line says at once what a service does not allow, and the endpoints are absent. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { CLI_CLIENT, CLI_SCOPE, DEVICE_CODE } from '../../src/contract/own-clients.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { authorizeUrl, Browser, loginUid, post, tokenCall } from '../support/oauth.ts';
import { openHome } from './home.ts';

const CLIENT = { clientId: CLI_CLIENT.client_id };
const REFUSED = /does not allow `muster login.*CLI_LOGIN[\s\S]*personal access token[\s\S]*--token-file FILE/;
const callback = { ...CLIENT, redirectUri: 'http://127.0.0.1:5000/callback' };

async function assertNoDeviceFlow(api: TestApi): Promise<void> {
  const { body } = await api.call('GET', '/.well-known/openid-configuration');
  assert.equal(body.device_authorization_endpoint, undefined);
  assert(!body.grant_types_supported.includes(DEVICE_CODE));
  const begun = await post(api, '/oauth/v2/device_authorization', { scope: CLI_SCOPE }, CLIENT);
  assert.deepEqual([begun.status, begun.body.error], [404, 'invalid_request']);
  assert.equal((await api.call('GET', '/ui/device', undefined, { token: null })).status, 404);
  const polled = await tokenCall(api, { grant_type: DEVICE_CODE, device_code: 'x' }, CLIENT);
  assert.match(polled.body.error, /^(?:unsupported_grant_type|invalid_client)$/);
}

test('with CLI_LOGIN=browser there is no device flow', async (t) => {
  const api = await startApi({ env: { CLI_LOGIN: 'browser' } });
  t.after(() => api.stop());
  await assertNoDeviceFlow(api);
  const home = await openHome(t, api.url);
  const { code, stderr } = await home.muster(['login', '--device']);
  assert.equal(code, 4);
  assert.match(stderr, REFUSED);
  assert(loginUid(await new Browser().fetch(authorizeUrl(api, callback, 'v'.repeat(43)))), 'a browser can log in');
});

test('with CLI_LOGIN=off there is no client of the command line, and a token still works', async (t) => {
  const api = await startApi({ env: { CLI_LOGIN: 'off' } });
  t.after(() => api.stop());
  await assertNoDeviceFlow(api);
  const page = await new Browser().fetch(authorizeUrl(api, callback, 'v'.repeat(43)));
  assert.deepEqual([page.status, page.headers.get('location')], [400, null]);
  const renewed = await tokenCall(api, { grant_type: 'refresh_token', refresh_token: 'x' }, CLIENT);
  assert.equal(renewed.body.error, 'invalid_client');
  const home = await openHome(t, api.url);
  for (const options of [[], ['--no-browser'], ['--device']]) {
    const { code, stderr } = await home.muster(['login', ...options]);
    assert.equal(code, 4);
    assert.match(stderr, REFUSED);
  }
  const { code, stderr } = await home.muster(['login', '--token'], { input: api.token });
  assert.equal(code, 0, stderr);
});
