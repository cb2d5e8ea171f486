/** The device flow (RFC 8628) over plain HTTP; with a browser in test/browser/device.test.ts. */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { CLI_CLIENT, CLI_SCOPE, DEVICE_CODE } from '../../../src/contract/own-clients.ts';
import { type Answer, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { addClient, Browser, finishLogin, loginUid, post, statusWith, tokenCall } from '../../support/oauth.ts';

const CLIENT = { clientId: CLI_CLIENT.client_id };

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
});
after(() => api.stop());

const begin = async (scope = CLI_SCOPE): Promise<Answer['body']> => {
  const answer = await post(api, '/oauth/v2/device_authorization', { scope }, CLIENT);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
};
const poll = (code: string): Promise<Answer> => tokenCall(api, { grant_type: DEVICE_CODE, device_code: code }, CLIENT);

/** Submits a form of the pages, with the token of the previous page. */
async function send(browser: Browser, page: string, fields: Record<string, string>): Promise<Response> {
  const xsrf = /name="xsrf" value="(\w+)"/.exec(page)?.[1] ?? '';
  const body = new URLSearchParams({ xsrf, ...fields });
  return browser.fetch(`${api.url}/ui/device`, { method: 'POST', body });
}

async function openPage(browser: Browser): Promise<string> {
  return (await browser.fetch(`${api.url}/ui/device`)).text();
}

/** From entering the code to the response of the last page. */
async function approve(userCode: string, userId: string, browser = new Browser()): Promise<Response> {
  const asked = await (await send(browser, await openPage(browser), { user_code: userCode })).text();
  const response = await send(browser, asked, { user_code: userCode, confirm: 'yes' });
  const uid = loginUid(response);
  return uid ? browser.fetch(await finishLogin(api, uid, userId)) : response;
}

test('a device waits, a user enters its code and confirms, and the device gets its tokens, once', async () => {
  const { device_code: code, user_code: typed, ...rest } = await begin();
  assert.deepEqual(rest, {
    verification_uri: `${api.url}/ui/device`,
    verification_uri_complete: `${api.url}/ui/device?user_code=${typed}`,
    expires_in: 600,
  });
  assert.match(typed, /^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/);
  assert.deepEqual([(await poll(code)).status, (await poll(code)).body.error], [400, 'authorization_pending']);

  const done = await approve(typed.toLowerCase().replace('-', ' '), org.userId);
  assert.equal(done.status, 200);
  assert.match(await done.text(), /Your device is connected/);

  const { status, body } = await poll(code);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.scope, CLI_SCOPE);
  assert.equal(await statusWith(api, body.access_token), 200);
  const renewed = await tokenCall(api, { grant_type: 'refresh_token', refresh_token: body.refresh_token }, CLIENT);
  assert.equal(renewed.status, 200);

  assert.equal((await poll(code)).body.error, 'invalid_grant');
  assert.equal(await statusWith(api, renewed.body.access_token), 401, 'reuse of a code revokes the grant');
});

test('a logged-in user must confirm too, but without a password', async () => {
  const browser = new Browser();
  await approve((await begin()).user_code, org.userId, browser);
  const second = await begin();
  const done = await approve(second.user_code, 'nobody is asked', browser);
  assert.match(await done.text(), /Your device is connected/);
  assert.equal((await poll(second.device_code)).status, 200);
});

test('a user who cancels the confirmation or the login gives the device no access', async () => {
  for (const how of ['abort', 'cancel']) {
    const { device_code: code, user_code: typed } = await begin();
    const browser = new Browser();
    const asked = await (await send(browser, await openPage(browser), { user_code: typed })).text();
    assert.match(asked, new RegExp(`Is this your device\\?[\\s\\S]*Muster command line[\\s\\S]*${typed}`));
    const answer = await send(browser, asked, { user_code: typed, [how === 'abort' ? how : 'confirm']: 'yes' });
    const page = how === 'abort' ? answer : await cancelled(browser, loginUid(answer) as string);
    assert.match(await page.text(), /Sign‑in cancelled/);
    assert.equal((await poll(code)).body.error, 'access_denied');
  }
});

async function cancelled(browser: Browser, uid: string): Promise<Response> {
  const provider = api.deps.oauth.current();
  const interaction = await provider.Interaction.find(uid);
  assert(interaction);
  interaction.result = { error: 'access_denied' };
  await interaction.save(60);
  return browser.fetch(interaction.returnTo);
}

test('a wrong, used, expired or missing code shows the form again', async () => {
  const used = await begin();
  await approve(used.user_code, org.userId);
  const expired = await begin();
  await api.deps.pool.query(
    `update oauth_models set payload = jsonb_set(payload::jsonb, '{exp}', '1')::json
     where kind = 'DeviceCode' and user_id is null`,
  );
  for (const [typed, words] of [
    ['BBBB-BBBB', /This code is not correct/],
    [used.user_code, /has already been used/],
    [expired.user_code, /has expired/],
    ['', /Please enter the code/],
    ['\u0000"<b>', /This code is not correct/],
  ] as const) {
    const browser = new Browser();
    const answer = await send(browser, await openPage(browser), { user_code: typed });
    assert.equal(answer.status, 400, typed);
    const page = await answer.text();
    assert.match(page, words);
    assert(!page.includes('<b>'));
  }
  assert.equal((await poll(expired.device_code)).body.error, 'expired_token');
});

test('a form without its token or from another browser has no effect', async () => {
  const { device_code: code, user_code: typed } = await begin();
  const [browser, other] = [new Browser(), new Browser()];
  const page = await openPage(browser);
  await openPage(other);
  for (const answer of [
    await send(new Browser(), page, { user_code: typed, confirm: 'yes' }),
    await send(other, page, { user_code: typed, confirm: 'yes' }),
    await send(browser, '', { user_code: typed, confirm: 'yes' }),
  ]) {
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /This form has expired/);
  }
  assert.equal((await poll(code)).body.error, 'authorization_pending');
});

test('the return from a login requires the same browser', async () => {
  const response = await new Browser().fetch(`${api.url}/ui/device/no-such-login`);
  assert.equal(response.status, 400);
  assert.match(await response.text(), /This sign‑in has expired/);
});

test('the contents of the database cannot be used as codes', async () => {
  const { device_code: code, user_code: typed } = await begin();
  const browser = new Browser();
  const asked = await (await send(browser, await openPage(browser), { user_code: typed })).text();
  const uid = loginUid(await send(browser, asked, { user_code: typed, confirm: 'yes' })) as string;
  const { rows } = await api.deps.pool.query('select id_hash, to_jsonb(m)::text as text from oauth_models m');
  const all = rows.map((row) => row.text).join('\n');
  for (const secret of [code, typed, typed.replace('-', '')]) assert(!all.includes(secret));
  // The handle by which the login finds the device code is not a device code.
  const handle = /"deviceCode": ?"(row~[\w-]+)"/.exec(all)?.[1] as string;
  await browser.fetch(await finishLogin(api, uid, org.userId));
  assert.equal((await poll(handle)).body.error, 'invalid_request');
  assert.equal((await poll(code)).status, 200);
});

test('a user who is locked during the flow cannot authorize a device', async () => {
  const { body } = await api.call('POST', '/v2beta/users/human', {
    organization: { orgId: org.orgId },
    profile: { givenName: 'Bea', familyName: 'Brook' },
    email: { email: 'bea@example.com', isVerified: true },
  });
  const { device_code: code, user_code: typed } = await begin();
  await api.call('POST', `/v2beta/users/${body.userId}/password`, { newPassword: { password: 'correct horse' } });
  assert.match(await (await approve(typed, body.userId)).text(), /Your device is connected/);
  assert.equal((await api.call('POST', `/v2beta/users/${body.userId}/lock`, {})).status, 200);
  assert.equal((await poll(code)).body.error, 'invalid_grant');
});

test('only a client with the grant type can start it', async () => {
  const other = await addClient(api, { authMethod: 'none' });
  const scope = 'openid';
  assert.equal((await post(api, '/oauth/v2/device_authorization', { scope }, other)).body.error, 'invalid_request');
  const nobody = { clientId: 'no-such-client' };
  assert.equal((await post(api, '/oauth/v2/device_authorization', {}, nobody)).body.error, 'invalid_client');
});

test('a request without a known scope is refused at once', async () => {
  for (const body of [{}, { scope: '' }, { scope: 'no-such-scope' }] as Record<string, string>[]) {
    const answer = await post(api, '/oauth/v2/device_authorization', body, CLIENT);
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_scope']);
    assert.match(answer.body.error_description, /^scope must contain at least one of openid, /);
  }
});

test('without the API scope the token is not valid for the API', async () => {
  const { device_code: code, user_code: typed } = await begin('openid profile');
  await approve(typed, org.userId);
  assert.equal(await statusWith(api, (await poll(code)).body.access_token), 401);
});

test('starting it and entering codes count as attempts', async (t) => {
  const limited = await startApi({ env: { RATE_LIMIT_LOGINS: '2' } });
  t.after(() => limited.stop());
  const begun = () => post(limited, '/oauth/v2/device_authorization', { scope: 'openid' }, CLIENT);
  assert.deepEqual([(await begun()).status, (await begun()).status], [200, 200]);
  assert.deepEqual([(await begun()).status, (await begun()).body.error], [429, 'temporarily_unavailable']);
  assert.equal((await fetch(`${limited.url}/ui/device`, { method: 'POST' })).status, 429);
});

test('the link with the code also asks for confirmation', async () => {
  const { user_code: typed } = await begin();
  const browser = new Browser();
  const response = await browser.fetch(`${api.url}/ui/device?user_code=${typed}`);
  const page = await response.text();
  assert.match(response.headers.get('content-security-policy') as string, /script-src 'sha256-/);
  const asked = await send(browser, page, { user_code: typed });
  assert.match(await asked.text(), /Is this your device\?/);
});
