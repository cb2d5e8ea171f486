/** Users whose organization requires a second factor set one up in the middle of their login. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman, eventsOf } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { codeAt, wrongCode } from '../../support/totp.ts';
import { addClient, hiddenOf, REDIRECT_URI, type Shown, type Visitor, visitor } from './visitor.ts';

const PASSWORD = 'correct horse';
const POLICY = '/management/v1/policies/login';

let api: TestApi;
let org: SetUp;
let clientId: string;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0' } });
  org = await api.setupOrg();
  clientId = await addClient(api);
  const set = await api.call('POST', POLICY, { forceMfa: true }, { orgId: org.orgId });
  assert.equal(set.status, 200);
});
after(() => api.stop());

interface Login {
  by: Visitor;
  path: string;
  page: Shown;
}

const begin = async (by = visitor(api)): Promise<{ by: Visitor; path: string; fields: Record<string, string> }> => {
  const path = await by.begin(clientId);
  return { by, path, fields: hiddenOf(await by.get(path), 'password') };
};
/** A login after the right password. */
async function afterPassword(loginName: string, by = visitor(api), password = PASSWORD): Promise<Login> {
  const { path, fields } = await begin(by);
  return { by, path, page: await by.post(path, { ...fields, loginName, password }) };
}
const send = ({ by, path, page }: Login, code: string, step = 'setup', more: Record<string, string> = {}) =>
  by.post(path, { ...hiddenOf(page, step), code, ...more });
const secretIn = ({ text }: Shown) =>
  (/<code class="key">([A-Z2-7 ]+)<\/code>/.exec(text)?.[1] ?? '').replaceAll(' ', '');
const factors = async (userId: string) =>
  (await api.deps.pool.query('select confirmed_at is not null as active from user_totp where user_id = $1', [userId]))
    .rows;
const leadsTo = async ({ by }: Pick<Login, 'by'>, { headers }: Shown) =>
  (await by.get(new URL(headers.get('location') ?? '').pathname)).headers.get('location') ?? '';
const person = () => addHuman(api, org.orgId, PASSWORD);

describe('a login where a second factor is required', () => {
  it('shows a secret after the right password, and leads on only with its code', async () => {
    const userId = await person();
    const login = await afterPassword(userId);
    assert.deepEqual([login.page.status, login.page.headers.get('location')], [200, null]);
    assert.match(login.page.text, /<h1>Set up a second factor<\/h1>/);
    const secret = secretIn(login.page);
    assert.equal(secret.length, 32);
    const address = /href="(otpauth:[^"]+)"/.exec(login.page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    assert.equal(new URL(address).searchParams.get('secret'), secret);
    assert.deepEqual(await factors(userId), [], 'nothing is stored yet');

    for (const code of ['', 'abc', wrongCode(secret)]) {
      const again = await send(login, code);
      assert.equal(again.status, 400);
      assert.match(again.text, /The code is wrong/);
      assert.equal(secretIn(again), secret, 'the app keeps its key');
      assert.deepEqual(await factors(userId), []);
    }
    const done = await send(login, codeAt(secret));
    assert.equal(done.status, 303);
    assert.match(await leadsTo(login, done), new RegExp(`^${REDIRECT_URI.replaceAll('.', '\\.')}\\?code=`));
    assert.deepEqual(await factors(userId), [{ active: true }]);
    const events = (await eventsOf(api, userId)).filter((type) => type.includes('totp'));
    assert.deepEqual(events, ['user.human.totp.added', 'user.human.totp.verified']);
    const { rows } = await api.deps.pool.query(
      `select payload -> 'amr' as amr from audit_events where user_id = $1 and type = 'user.signin.succeeded'`,
      [userId],
    );
    assert.deepEqual(rows, [{ amr: ['pwd', 'otp', 'mfa'] }]);
  });

  it('asks for the code at the next login, and takes the code of the set-up only once', async () => {
    const userId = await person();
    const first = await afterPassword(userId);
    const secret = secretIn(first.page);
    const code = codeAt(secret);
    assert.equal((await send(first, code)).status, 303);
    const second = await afterPassword(userId);
    assert.match(second.page.text, /<h1>Enter your code<\/h1>/);
    assert.equal(secretIn(second.page), '');
    assert.equal((await send(second, code, 'code')).status, 400);
    await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
    assert.equal((await send(second, codeAt(secret), 'code')).status, 303);
  });

  it('shows no secret for a wrong password, an unknown user, or a user of another organization', async () => {
    const other = await api.setupOrg();
    for (const [name, password] of [
      [await person(), 'wrong'],
      ['nobody', PASSWORD],
    ] as const) {
      const { page } = await afterPassword(name, visitor(api), password);
      assert.equal(page.status, 400);
      assert.match(page.text, /The login name or the password is wrong/);
      assert.doesNotMatch(page.text, /otpauth|class="key"/);
    }
    const { page } = await afterPassword(other.userName, visitor(api), other.password);
    assert.equal(page.status, 303);
  });

  it('skips no step: neither with another step, nor with the proof of another login, nor after a new password', async () => {
    const userId = await person();
    const login = await afterPassword(userId);
    const fields = hiddenOf(login.page, 'setup');
    for (const step of ['code', 'later', 'change', 'continue', 'choose']) {
      const skipped = await login.by.post(login.path, { ...fields, step, code: codeAt(secretIn(login.page)) });
      assert.equal(skipped.status, 400, step);
    }
    const other = await afterPassword(await person());
    const swapped = await send(other, codeAt(secretIn(login.page)), 'setup', { proof: fields.proof ?? '' });
    assert.equal(swapped.status, 400);
    assert.match(swapped.text, /That took too long/);

    const moved = { newPassword: { password: 'battery staple' } };
    await api.call('POST', `/v2beta/users/${encodeURIComponent(userId)}/password`, moved);
    const late = await send(login, codeAt(secretIn(login.page)));
    assert.deepEqual([late.status, await factors(userId)], [400, []]);
  });

  it('in two tabs keeps the factor of the first, and asks the second for its code', async () => {
    const userId = await person();
    const [first, second] = [await afterPassword(userId), await afterPassword(userId)];
    assert.notEqual(secretIn(first.page), secretIn(second.page));
    assert.equal((await send(first, codeAt(secretIn(first.page)))).status, 303);
    const asked = await send(second, codeAt(secretIn(second.page)));
    assert.match(asked.text, /<h1>Enter your code<\/h1>/);
    await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
    const done = await send({ ...second, page: asked }, codeAt(secretIn(first.page)), 'code');
    assert.equal(done.status, 303);
  });

  it('comes before a new password that is required too', async () => {
    const userId = await person();
    await api.deps.pool.query('update users set password_change_required = true where id = $1', [userId]);
    const login = await afterPassword(userId);
    const page = await send(login, codeAt(secretIn(login.page)));
    assert.match(page.text, /<h1>Choose a new password<\/h1>/);
    const chosen = { ...hiddenOf(page, 'change'), password: 'battery staple', repeated: 'battery staple' };
    const done = await login.by.post(login.path, chosen);
    assert.match(await leadsTo(login, done), /\?code=/);
  });

  it('happens again in a browser that signed in before it was required', async () => {
    const other = await api.setupOrg();
    const login = await afterPassword(other.userName, visitor(api), other.password);
    assert.match(await leadsTo(login, login.page), /\?code=/);
    assert.equal(await login.by.begin(clientId), '/callback', 'single sign-on');
    await api.call('POST', POLICY, { forceMfa: true }, { orgId: other.orgId });
    const silent = visitorParams(await login.by.get(authorize(clientId, { prompt: 'none' })));
    assert.equal(silent, 'login_required');
    const again = await afterPassword(other.userName, login.by, other.password);
    const done = await send(again, codeAt(secretIn(again.page)));
    assert.match(await leadsTo(again, done), /\?code=/);
    assert.equal(await login.by.begin(clientId), '/callback', 'single sign-on with the factor');
  });
});

function authorize(client: string, more: Record<string, string>): string {
  const parameters = {
    response_type: 'code',
    client_id: client,
    redirect_uri: REDIRECT_URI,
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    ...more,
  };
  return `/oauth/v2/authorize?${new URLSearchParams(parameters)}`;
}

function visitorParams({ headers }: Shown): string | null {
  return new URL(headers.get('location') ?? '').searchParams.get('error');
}
