/** Who may leave out PKCE: clients with a secret that were registered so, and nobody else. */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { startApi, type TestApi } from '../../support/api.ts';
import {
  addClient,
  authorizeUrl,
  Browser,
  finishLogin,
  loginUid,
  type TestClient,
  tokenCall,
} from '../../support/oauth.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

const authorize = (browser: Browser, client: TestClient, params: Record<string, string> = {}) =>
  browser.fetch(authorizeUrl(api, client, 'v'.repeat(43), { params }));
const NONE = { code_challenge: '', code_challenge_method: '' };

async function codeOf(client: TestClient, params: Record<string, string> = {}): Promise<string> {
  const { userId } = await api.setupOrg();
  const browser = new Browser();
  const uid = loginUid(await authorize(browser, client, params));
  assert(uid, 'the login page follows');
  const back = await browser.fetch(await finishLogin(api, uid, userId));
  return new URL(back.headers.get('location') as string).searchParams.get('code') as string;
}
const redeem = (client: TestClient, code: string, more: Record<string, string> = {}) =>
  tokenCall(api, { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri, ...more }, client);

test('a client with a secret that was registered without PKCE gets tokens without it', async () => {
  const client = await addClient(api, { pkceRequired: false });
  const { status, body } = await redeem(client, await codeOf(client, NONE));
  assert.equal(status, 200, JSON.stringify(body));
});

test('if it sends a challenge all the same, the verifier is checked', async () => {
  const client = await addClient(api, { pkceRequired: false });
  assert.equal((await redeem(client, await codeOf(client))).body.error, 'invalid_grant');
  const wrong = await redeem(client, await codeOf(client), { code_verifier: 'w'.repeat(43) });
  assert.equal(wrong.body.error, 'invalid_grant');
  const right = await redeem(client, await codeOf(client), { code_verifier: 'v'.repeat(43) });
  assert.equal(right.status, 200);
  const stripped = await redeem(client, await codeOf(client, NONE), { code_verifier: 'v'.repeat(43) });
  assert.equal(stripped.body.error, 'invalid_grant', 'a challenge that was removed on the way is noticed');
});

test('all other clients need it', async () => {
  for (const fields of [{}, { pkceRequired: true }, { authMethod: 'none' }]) {
    const response = await authorize(new Browser(), await addClient(api, fields), NONE);
    const location = new URL(response.headers.get('location') as string);
    assert.equal(location.searchParams.get('error'), 'invalid_request');
  }
});

test('a public client needs it, even if its row says otherwise', async () => {
  const client = await addClient(api, { authMethod: 'none' });
  await assert.rejects(
    api.deps.pool.query('update oauth_clients set pkce_required = false where id = $1', [client.clientId]),
    { constraint: 'oauth_clients_public_pkce' },
  );
});
