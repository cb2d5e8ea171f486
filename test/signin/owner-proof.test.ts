/** A stolen access token must not take over the account: changes of what protects it need more than the token. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { attemptKeys } from '../../src/signin/login/delays.ts';
import { addPat } from '../../src/signin/machines/tokens.ts';
import { addHuman, contactOf, eventsOf, humanRow, tokenOf } from '../directory/users/people.ts';
import { type Answer, errorId, type SetUp, startApi, type TestApi } from '../support/api.ts';
import { API_SCOPE, addClient, Browser, post, tokenCall, tokensOf } from '../support/oauth.ts';
import { codeAt } from '../support/totp.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ env: { SMS_URL: 'http://127.0.0.1:9/' } });
  org = await api.setupOrg();
});
after(() => api.stop());

const OLD_S = 301;
const PASSWORD = 'a password';
const at = (userId: string, rest: string) => `/v2beta/users/${encodeURIComponent(userId)}/${rest}`;
const refusal = (answer: Answer) => [answer.status, errorId(answer)];
const AGAIN = [401, 'AUTH-SIGN-IN-AGAIN'];

type Call = (userId: string, token: string, more?: object) => Promise<Answer>;
const put: (body: object) => Call = (body) => (userId, token, more) =>
  api.call('PUT', `/v2beta/users/human/${encodeURIComponent(userId)}`, { ...body, ...more }, { token });
const send: (method: string, path: string, body: object) => Call = (method, path, body) => (userId, token, more) =>
  api.call(method, at(userId, path), { ...body, ...more }, { token });

const CHANGES: Record<string, Call> = {
  'adds a second factor': send('POST', 'totp', {}),
  'removes the second factor': send('DELETE', 'totp', {}),
  'adds codes by text message': send('POST', 'otp_sms', {}),
  'removes codes by text message': send('DELETE', 'otp_sms', {}),
  'adds codes by email': send('POST', 'otp_email', {}),
  'removes codes by email': send('DELETE', 'otp_email', {}),
  'sets the email address': send('POST', 'email', { email: 'new@example.com' }),
  'sets the phone number': send('POST', 'phone', { phone: '+41791112233' }),
  'removes the phone number': send('DELETE', 'phone', {}),
  'changes the email address with others': put({ email: { email: 'new@example.com' }, profile: { nickName: 'x' } }),
  'changes the phone number with others': put({ phone: { phone: '+41791112233' } }),
};

/** A user with a phone number; with an active second factor for the calls that remove it. */
async function human(call: string): Promise<string> {
  const userId = await addHuman(api, org.orgId, PASSWORD);
  await api.deps.pool.query(`update users set phone = '+41791234567' where id = $1`, [userId]);
  if (call.includes('codes by')) {
    await api.deps.pool.query('update users set phone_verified = true, email_verified = true where id = $1', [userId]);
    const text = 'insert into user_factors (user_id, otp_sms, otp_email) values ($1, $2, $2)';
    await api.deps.pool.query(text, [userId, call.startsWith('removes')]);
  }
  if (!call.startsWith('removes the second')) return userId;
  const { secret } = (await api.call('POST', at(userId, 'totp'))).body;
  assert.equal((await api.call('POST', at(userId, 'totp/verify'), { code: codeAt(secret) })).status, 200);
  return userId;
}

for (const [name, call] of Object.entries(CHANGES)) {
  describe(`a call that ${name}`, () => {
    it('is refused with a token of an older sign-in, and changes nothing', async () => {
      const userId = await human(name);
      const before = [await humanRow(api, userId), await contactOf(api, userId), await eventsOf(api, userId)];
      const answer = await call(userId, await tokenOf(api, userId, OLD_S));
      assert.deepEqual(refusal(answer), AGAIN);
      assert.match(answer.body.message, /currentPassword/);
      assert.match(
        answer.headers.get('www-authenticate') ?? '',
        /^Bearer error="insufficient_user_authentication", .*max_age="300"$/,
      );
      assert.deepEqual(
        [await humanRow(api, userId), await contactOf(api, userId), await eventsOf(api, userId)],
        before,
      );
    });

    it('succeeds after a recent sign-in, or with the current password', async () => {
      const [recent, proven] = [await human(name), await human(name)];
      assert.equal((await call(recent, await tokenOf(api, recent, 200))).status, 200);
      const old = await tokenOf(api, proven, OLD_S);
      assert.deepEqual(refusal(await call(proven, old, { currentPassword: 'wrong' })), [400, 'PASSWORD-CURRENT']);
      assert.equal((await call(proven, old, { currentPassword: PASSWORD })).status, 200);
    });
  });
}

it('a wrong password is refused even after a recent sign-in, and counts as a failed login', async () => {
  const userId = await human('');
  const call = CHANGES['adds a second factor'] as Call;
  const answer = await call(userId, await tokenOf(api, userId), { currentPassword: 'wrong' });
  assert.deepEqual(refusal(answer), [400, 'PASSWORD-CURRENT']);
  const { here } = attemptKeys(api.deps.secrets, { userId }, { network: '127.0.0.1', through: userId });
  const { rows } = await api.deps.pool.query('select failures from login_delays where bucket = $1', [here]);
  assert.deepEqual(rows, [{ failures: 1 }]);
});

it('a personal access token is no sign-in', async () => {
  const userId = await human('');
  const token = 'a-token-of-a-person-000000000000000000';
  await addPat(api.deps.pool, { id: userId, orgId: org.orgId }, { token }, 'test');
  assert.deepEqual(refusal(await (CHANGES['sets the email address'] as Call)(userId, token)), AGAIN);
});

it('a change of the profile, and the same address again, need no proof', async () => {
  const userId = await human('');
  const token = await tokenOf(api, userId, OLD_S);
  const { body } = await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`);
  const { email, phone, profile } = body.user.human;
  const same = put({ profile: { ...profile, nickName: 'Annie' }, email: { email: email.email }, phone });
  assert.equal((await same(userId, token)).status, 200);
});

it('managers act on others without it; on themselves they need it too, also to set their password', async () => {
  const [owner, other] = [await human(''), await human('')];
  await api.call(
    'POST',
    '/management/v1/orgs/me/members',
    { userId: owner, roles: ['ORG_OWNER'] },
    { orgId: org.orgId },
  );
  const token = await tokenOf(api, owner, OLD_S);
  const newPassword = { password: 'another password' };
  for (const call of [
    send('POST', 'email', { email: 'b@example.com', isVerified: true }),
    send('POST', 'password', { newPassword }),
    put({ password: { password: newPassword } }),
  ]) {
    assert.equal((await call(other, token)).status, 200);
    assert.deepEqual(refusal(await call(owner, token)), AGAIN);
  }
  const proven = { newPassword, currentPassword: PASSWORD };
  assert.equal((await api.call('POST', at(owner, 'password'), proven, { token })).status, 200);
});

it('a change of a factor ends all logins of the user if it asks for it, and none otherwise', async () => {
  const userId = await human('');
  const [client, checks] = [await addClient(api), { user: { userId }, password: { password: PASSWORD } }];
  const alive = async (token: string) => (await api.call('GET', '/management/v1/me', undefined, { token })).status;
  const changed = async (method: string, path: string, body: object, endSessions: boolean) => {
    const [own, elsewhere] = [await tokenOf(api, userId), (await tokensOf(api, client, { userId })).access_token];
    const { status, body: answer } = await api.call(method, at(userId, path), { ...body, endSessions }, { token: own });
    assert.equal(status, 200, JSON.stringify(answer));
    assert.deepEqual([await alive(own), await alive(elsewhere)], endSessions ? [401, 401] : [200, 200], path);
  };
  const session = (await api.call('POST', '/v2beta/sessions', { checks })).body.sessionId;
  const same = { newPassword: { password: PASSWORD }, currentPassword: PASSWORD };
  await changed('POST', 'password', same, false);
  assert.equal((await api.call('GET', `/v2beta/sessions/${session}`)).status, 200);
  await changed('POST', 'password', same, true);
  assert.equal((await api.call('GET', `/v2beta/sessions/${session}`)).status, 404);
  for (const endSessions of [false, true]) {
    const { secret } = (await api.call('POST', at(userId, 'totp'))).body;
    await changed('POST', 'totp/verify', { code: codeAt(secret) }, endSessions);
    await changed('DELETE', 'totp', {}, endSessions);
  }
});

describe('the time of the sign-in', () => {
  const OFFLINE = { scope: `openid offline_access ${API_SCOPE}` };

  it('is in the access token of a person, is shown by introspection, and outlasts refreshes and single sign-on', async () => {
    const userId = await human('');
    const [client, browser] = [await addClient(api), new Browser()];
    const timeOf = async (token: string) => (await post(api, '/oauth/v2/introspect', { token }, client)).body.auth_time;
    const first = await tokensOf(api, client, { userId, browser, ...OFFLINE });
    const signedInAt = await timeOf(first.access_token);
    assert.ok(Math.abs(signedInAt - Date.now() / 1000) < 60, String(signedInAt));
    await age('Session', 'loginTs');
    await age('RefreshToken', 'authTime');
    const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token };
    const refreshed = (await tokenCall(api, form, client)).body;
    const again = await tokensOf(api, client, { userId, browser });
    for (const { access_token: token } of [refreshed, again]) {
      assert.equal(await timeOf(token), signedInAt - OLD_S);
      assert.deepEqual(refusal(await (CHANGES['adds a second factor'] as Call)(userId, token)), AGAIN);
    }
    const fresh = await tokensOf(api, client, { userId, browser, params: { max_age: '300' } });
    assert.equal((await (CHANGES['adds a second factor'] as Call)(userId, fresh.access_token)).status, 200);
  });

  /** Makes the sign-in older. */
  async function age(kind: string, field: string): Promise<void> {
    await api.deps.pool.query(
      `update oauth_models set payload =
         jsonb_set(payload::jsonb, array[$2], to_jsonb((payload ->> $2)::int - $3::int))::json where kind = $1`,
      [kind, field, OLD_S],
    );
  }
});
