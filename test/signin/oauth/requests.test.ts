/** Authorization and sign-out requests as existing applications send them. */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import {
  AFTER_LOGOUT,
  API_SCOPE,
  addClient,
  authorizeUrl,
  Browser,
  finishLogin,
  loginUid,
  statusWith,
  type TestClient,
  tokenCall,
  tokensOf,
} from '../../support/oauth.ts';

const VERIFIER = 'v'.repeat(43);
const ZITADEL_SCOPE = 'urn:zitadel:iam:org:project:id:zitadel:aud';
let api: TestApi;
let org: SetUp;
let client: TestClient;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  client = await addClient(api);
});
after(() => api.stop());

/** Sends the query of an address as a form. */
function postForm(browser: Browser, url: string, headers: Record<string, string> = {}): Promise<Response> {
  const { origin, pathname, searchParams } = new URL(url);
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const init = { method: 'POST', body: String(searchParams), headers: { ...type, ...headers } };
  return browser.fetch(origin + pathname, init);
}

const locationOf = (response: Response) => response.headers.get('location') ?? '';

test('authorize accepts a form, with the cookies of the browser', async () => {
  const browser = new Browser();
  const url = authorizeUrl(api, client, VERIFIER, { params: { state: 'a b+c%&ü' } });
  const uid = loginUid(await postForm(browser, url)) as string;
  const first = new URL(locationOf(await browser.fetch(await finishLogin(api, uid, org.userId)))).searchParams;
  assert.deepEqual([first.get('state'), typeof first.get('code')], ['a b+c%&ü', 'string']);
  const second = new URL(locationOf(await postForm(browser, url))).searchParams;
  assert(second.get('code'));
});

test('a form from another site is redirected, as browsers send no cookies with it', async () => {
  const browser = new Browser();
  await tokensOf(api, client, { userId: org.userId, browser });
  const url = authorizeUrl(api, client, VERIFIER);
  const redirect = await postForm(new Browser(), url, { 'sec-fetch-site': 'cross-site' });
  assert.equal(redirect.status, 303);
  const target = locationOf(redirect);
  assert.equal(target, url);
  assert(new URL(locationOf(await browser.fetch(target))).searchParams.get('code'));
});

test('a body that is not a form, or is too long, gets an error of RFC 6749', async () => {
  const send = async (body: string, type: string) => {
    const headers = { 'content-type': type };
    return api.call('POST', '/oauth/v2/authorize', body, { token: null, headers });
  };
  const form = 'application/x-www-form-urlencoded';
  for (const [body, type, status] of [
    ['{}', 'application/json', 400],
    ['client_id=a b', form, 400],
    ['client_id=a#b', form, 400],
    [`client_id=${'x'.repeat(13_000)}`, form, 413],
  ] as const) {
    const answer = await send(body, type);
    assert.deepEqual([answer.status, answer.body.error], [status, 'invalid_request'], body.slice(0, 20));
  }
});

test('end_session accepts a form', async () => {
  const browser = new Browser();
  const { id_token: hint } = await tokensOf(api, client, { userId: org.userId, browser });
  const query = new URLSearchParams({ id_token_hint: hint, post_logout_redirect_uri: AFTER_LOGOUT });
  const page = await postForm(browser, `${api.url}/oidc/v1/end_session?${query}`);
  assert.equal(page.status, 200);
  assert.match(await page.text(), /name="xsrf"/);
});

test('an authorization request without a known scope is refused before the login', async () => {
  for (const scope of ['', 'unknown', 'urn:x openId']) {
    const url = authorizeUrl(api, client, VERIFIER, { scope, params: { state: 's' } });
    const answer = new URL(locationOf(await new Browser().fetch(url)));
    assert.equal(answer.origin + answer.pathname, client.redirectUri);
    assert.deepEqual([answer.searchParams.get('error'), answer.searchParams.get('state')], ['invalid_scope', 's']);
  }
});

test('the name of the API scope in ZITADEL is an alias, for users and for programs', async () => {
  const tokens = await tokensOf(api, client, { userId: org.userId, scope: `openid ${ZITADEL_SCOPE}` });
  assert.equal(tokens.scope, `openid ${API_SCOPE}`);
  assert.equal(await statusWith(api, tokens.access_token), 200);

  const { userId } = await api.machine(org.orgId, ['ORG_OWNER']);
  const { clientId, clientSecret } = (await api.call('PUT', `/management/v1/users/${userId}/secret`)).body;
  const form = { grant_type: 'client_credentials', scope: ZITADEL_SCOPE };
  const { body } = await tokenCall(api, form, { clientId, clientSecret });
  assert.equal(body.scope, API_SCOPE);
  assert.equal(await statusWith(api, body.access_token), 200);
});

test('prompt=select_account asks a user who is signed in, and nobody can be asked silently', async () => {
  const browser = new Browser();
  await tokensOf(api, client, { userId: org.userId, browser });
  const url = (prompt: string) => authorizeUrl(api, client, VERIFIER, { params: { prompt } });
  const uid = loginUid(await browser.fetch(url('select_account'))) as string;
  const interaction = await api.deps.oauth.current().Interaction.find(uid);
  assert.equal(interaction?.prompt.name, 'select_account');
  // The page does not suggest the user who is signed in.
  const page = await (await browser.fetch(`${api.url}/ui/login/${uid}`)).text();
  assert(!page.includes(org.userName));
  const silent = new URL(locationOf(await browser.fetch(url('none select_account')))).searchParams;
  assert.equal(silent.get('error'), 'invalid_request');
});

test('preferred_username is the user name itself if it is an address', async () => {
  const userName = `${unique('ann')}@example.com`;
  const { userId } = await api.setupOrg({ human: { userName } });
  const { access_token: token } = await tokensOf(api, client, { userId, scope: 'openid profile' });
  const { body } = await api.call('GET', '/oidc/v1/userinfo', undefined, { token });
  assert.equal(body.preferred_username, userName);
});
