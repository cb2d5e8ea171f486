/** Users see where they are logged in, and end it: one login, or all. */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { errorId, type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import { addClient, codeFlow, post, redeem, statusWith, type TestClient } from '../support/oauth.ts';

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
  clientName?: string;
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
const end = (userId: string, id = '', token = api.token) =>
  api.call('DELETE', `/v2beta/users/${userId}/logins${id && `/${id}`}`, undefined, { token });
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
    ...Array(2).fill('LOGIN_TYPE_SESSION '),
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
