/** Users see where they are logged in, and end it: one login, or all. */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { tokenOf } from '../directory/users/people.ts';
import { errorId, type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import {
  API_SCOPE,
  addClient,
  Browser,
  codeFlow,
  post,
  redeem,
  statusWith,
  type TestClient,
} from '../support/oauth.ts';

const PASSWORD = 'a long enough one';

let api: TestApi;
let org: SetUp;
let client: TestClient;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  client = await addClient(api, { name: 'Shop' });
});
after(() => api.stop());

interface Login {
  id: string;
  type: string;
  isCurrent: boolean;
  clientName?: string;
  address?: string;
  userAgent?: string;
  lastUseDate?: string;
}

async function newUser(): Promise<string> {
  const email = { email: `${unique('u')}@example.com`, isVerified: true };
  const profile = { givenName: 'Ann', familyName: 'Arbor' };
  const body = { organization: { orgId: org.orgId }, profile, email, password: { password: PASSWORD } };
  return (await api.call('POST', '/v2beta/users/human', body)).body.userId;
}

/** A browser and an application with tokens, and a session. @returns the access and the refresh token */
async function loggedIn(userId: string): Promise<{ token: string; refreshToken: string }> {
  const flow = await codeFlow(api, client, {
    userId,
    scope: 'openid offline_access urn:service:iam:org:project:id:service:aud',
  });
  const { body } = await redeem(api, client, flow);
  const checks = { user: { userId }, password: { password: PASSWORD } };
  assert.equal((await api.call('POST', '/v2beta/sessions', { checks })).status, 201);
  return { token: body.access_token, refreshToken: body.refresh_token };
}
const loginsOf = async (userId: string, token = api.token): Promise<Login[]> =>
  (await api.call('GET', `/v2beta/users/${userId}/logins`, undefined, { token })).body.result;
const end = (userId: string, id = '', token = api.token, body?: object) =>
  api.call('DELETE', `/v2beta/users/${userId}/logins${id && `/${id}`}`, body, { token });
const refreshed = async (refreshToken: string) =>
  (await post(api, '/oauth/v2/token', { grant_type: 'refresh_token', refresh_token: refreshToken }, client)).status;

test('a user sees their logins, and ends an application: its tokens end, the rest stays', async () => {
  const userId = await newUser();
  const other = await newUser();
  const { token, refreshToken } = await loggedIn(userId);
  const second = await loggedIn(userId);
  await loggedIn(other);

  const own = await loginsOf(userId, token);
  const types = own.map(({ type, clientName }) => `${type} ${clientName ?? ''}`).sort();
  assert.deepEqual(types, [
    ...Array(2).fill('LOGIN_TYPE_APPLICATION Shop'),
    ...Array(2).fill('LOGIN_TYPE_BROWSER '),
    ...Array(2).fill('LOGIN_TYPE_SESSION Muster administrator'),
  ]);

  for (const { id } of own.filter(({ type }) => type !== 'LOGIN_TYPE_BROWSER')) {
    assert.equal((await end(userId, id)).status, 200);
    const again = await end(userId, id);
    assert.deepEqual([again.status, errorId(again)], [404, 'LOGIN-NOT-FOUND']);
  }
  for (const one of [token, second.token]) assert.equal(await statusWith(api, one), 401);
  assert.equal(await refreshed(refreshToken), 400);
  assert.deepEqual(
    (await loginsOf(userId)).map(({ type }) => type),
    Array(2).fill('LOGIN_TYPE_BROWSER'),
  );
  assert.equal((await loginsOf(other)).length, 3);
});

test('a browser ends without the tokens for offline access; a user ends all logins at once', async () => {
  const userId = await newUser();
  const { token, refreshToken } = await loggedIn(userId);
  const browser = (await loginsOf(userId)).find(({ type }) => type === 'LOGIN_TYPE_BROWSER');
  assert.equal((await end(userId, browser?.id)).status, 200);
  assert.equal((await loginsOf(userId)).length, 2);
  assert.equal(await refreshed(refreshToken), 200, 'offline_access outlives the browser');

  assert.equal((await end(userId, '', token)).status, 200);
  assert.deepEqual(await loginsOf(userId), []);
  assert.equal(await statusWith(api, token), 401);
});

test('nobody ends the login of another user through their own, or those of a user with more rights', async () => {
  const [userId, other] = [await newUser(), await newUser()];
  const { token } = await loggedIn(userId);
  await loggedIn(other);
  const [theirs] = await loginsOf(other);
  assert.equal(errorId(await end(userId, theirs?.id, token)), 'LOGIN-NOT-FOUND');
  assert.equal((await end(other, theirs?.id, token)).status, 403);
  const manager = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
  assert.equal((await end(org.userId, '', manager.token)).status, 403);
  assert.equal((await end(other, theirs?.id, manager.token)).status, 200);
});

test('a login says from where and with what it was last used, and which one is that of the call', async () => {
  const userId = await newUser();
  const { refreshToken } = await loggedIn(userId);
  const checks = { user: { userId }, password: { password: PASSWORD } };
  const named = { checks, userAgent: { ip: '203.0.113.9' } };
  assert.equal((await api.call('POST', '/v2beta/sessions', named)).status, 201);
  const flow = await codeFlow(api, client, { userId, browser: new Browser(), scope: `openid ${API_SCOPE}` });
  const { access_token: token } = (await redeem(api, client, flow)).body;

  const own = await loginsOf(userId, token);
  const current = own.filter(({ isCurrent }) => isCurrent);
  assert.deepEqual(current.map(({ type }) => type).sort(), ['LOGIN_TYPE_APPLICATION', 'LOGIN_TYPE_BROWSER']);
  for (const { type, address, userAgent, lastUseDate } of own) {
    if (type === 'LOGIN_TYPE_SESSION') assert.deepEqual([userAgent, lastUseDate], [undefined, undefined]);
    else assert.deepEqual([address, userAgent, typeof lastUseDate], ['127.0.0.1', 'node', 'string']);
  }
  const addresses = own.filter(({ type }) => type === 'LOGIN_TYPE_SESSION').map(({ address }) => address);
  assert.deepEqual(addresses.sort(), ['203.0.113.9', undefined], 'that of the program is not that of the person');
  assert.equal(
    (await loginsOf(userId)).filter(({ isCurrent }) => isCurrent).length,
    0,
    'a manager is not logged in here',
  );

  await api.deps.pool.query(
    `update oauth_models set used_at = now() - interval '1 hour',
    payload = (payload::jsonb || jsonb_build_object('iat', extract(epoch from now())::int - 3600))::json
    where user_id = $1`,
    [userId],
  );
  const lastUse = async () =>
    (await loginsOf(userId)).filter(({ lastUseDate = '' }) => Date.now() - Date.parse(lastUseDate) < 600_000).length;
  assert.equal(await lastUse(), 0);
  assert.equal(await refreshed(refreshToken), 200);
  assert.equal(await lastUse(), 1, 'new tokens are a use of the application');
});

test('a user ends all logins but that of the call', async () => {
  const userId = await newUser();
  const { refreshToken } = await loggedIn(userId);
  const flow = await codeFlow(api, client, { userId, scope: `openid ${API_SCOPE}` });
  const { access_token: token } = (await redeem(api, client, flow)).body;
  assert.equal((await end(userId, '', token, { keepCurrent: true })).status, 200);
  const left = await loginsOf(userId, token);
  assert.deepEqual(
    left.map(({ isCurrent }) => isCurrent),
    [true, true],
  );
  assert.equal(await refreshed(refreshToken), 400);

  for (const [caller, target] of [
    [api.token, userId],
    [await tokenOf(api, org.userId), userId],
  ] as const) {
    const refused = await end(target, '', caller, { keepCurrent: true });
    assert.deepEqual([refused.status, errorId(refused)], [400, 'LOGIN-INVALID']);
  }
  assert.equal((await loginsOf(userId, token)).length, 2);
});

test('a user whose sign-in is old ends nothing with the token alone', async () => {
  const userId = await newUser();
  await loggedIn(userId);
  const old = await tokenOf(api, userId, 301);
  const [one] = await loginsOf(userId, old);
  const count = (await loginsOf(userId)).length;
  for (const id of ['', one?.id]) {
    const refused = await end(userId, id, old);
    assert.deepEqual([refused.status, errorId(refused)], [401, 'AUTH-SIGN-IN-AGAIN']);
    assert.equal(errorId(await end(userId, id, old, { currentPassword: 'wrong' })), 'PASSWORD-CURRENT');
  }
  assert.equal((await loginsOf(userId)).length, count);
  assert.equal((await end(userId, one?.id, old, { currentPassword: PASSWORD })).status, 200);
});
