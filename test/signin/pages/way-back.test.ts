/** Where the page of a link leads after it: back to the sign-in that asked for the link, and to the application. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman, addVerified, mailCode } from '../../directory/users/people.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { codeAt, wrongCode } from '../../support/totp.ts';
import { waitFor } from '../../support/wait.ts';
import { addClient, hiddenOf, type Shown, type Visitor, visitor } from './visitor.ts';

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0' } });
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

async function mailsTo(userId: string): Promise<string[]> {
  const text = 'select kind from mail_outbox where user_id = $1';
  return (await api.deps.pool.query<{ kind: string }>(text, [userId])).rows.map((row) => row.kind);
}

describe('the way back after a link', () => {
  const open = async () => {
    const by = visitor(api);
    const path = await by.begin(await addClient(api));
    const { token = '' } = hiddenOf(await by.get(path), 'password');
    return { by, path, token };
  };
  const asked = async (userId: string, kind: string) => {
    await waitFor(async () => (await mailsTo(userId)).includes(kind), { what: 'the mail' });
    const text = 'select code_id from mail_outbox where user_id = $1 and kind = $2 order by id desc';
    const { rows } = await api.deps.pool.query(text, [userId, kind]);
    return { userId, code: api.deps.secrets.code(rows[0].code_id, 0) };
  };

  it('takes over the typed name, and leads from a first password to the application, in this browser only', async () => {
    const userId = await addHuman(api, orgId);
    const { by, path, token } = await open();
    const page = await by.post(path, { step: 'password', token, loginName: userId });
    const forgot = /href="\.\.(\/forgot[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const form = await by.get(`/ui${forgot}`);
    assert.ok(form.text.includes(`value="${userId}"`));
    await by.post('/ui/forgot', { login: path.split('/').at(-1) ?? '', loginName: userId });
    const link = await asked(userId, 'initialise');
    const password = 'battery staple';
    const done = await by.post('/ui/init', { ...link, password, repeated: password });
    assert.match(done.text, />Continue</);
    const sent = hiddenOf(done, 'resume');
    const elsewhere = await visitor(api).post(path, sent);
    assert.deepEqual([elsewhere.status, elsewhere.headers.get('location')], [303, 'https://app.example.com/']);
    const back = await by.post(path, sent);
    assert.equal(back.status, 303);
    const final = await by.get(new URL(back.headers.get('location') ?? '').pathname);
    assert.match(final.headers.get('location') ?? '', /^https:\/\/app\.example\.com\/callback\?code=/);
  });

  const PASSWORD = 'correct horse';
  const NEWER = 'battery staple';
  const isBack = async (by: Visitor, answer: Shown) => {
    assert.equal(answer.status, 303, answer.text);
    const final = await by.get(new URL(answer.headers.get('location') ?? '').pathname);
    return (final.headers.get('location') ?? '').startsWith('https://app.example.com/callback?code=');
  };
  /** Sets a new password with a link that was asked for in this browser; returns the form that leads back. */
  const withNewPassword = async (userId: string) => {
    const opened = await open();
    const { by, path } = opened;
    await by.post('/ui/forgot', { login: path.split('/').at(-1) ?? '', loginName: userId });
    const link = await asked(userId, 'reset_password');
    const done = await by.post('/ui/reset', { ...link, password: NEWER, repeated: NEWER });
    assert.match(done.text, />Continue</);
    return { ...opened, sent: hiddenOf(done, 'resume') };
  };
  const addFactor = async (userId: string): Promise<string> => {
    const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
    const { secret } = (await api.call('POST', path)).body;
    await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
    await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
    return secret;
  };
  const signIns = async (userId: string) => {
    const text = `select payload->'amr' as amr from audit_events where user_id = $1 and type = 'user.signin.succeeded'`;
    return (await api.deps.pool.query<{ amr: string[] }>(text, [userId])).rows.map((row) => row.amr);
  };

  it('leads from a new password to the application', async () => {
    const userId = await addVerified(api, orgId, PASSWORD);
    const { by, path, sent } = await withNewPassword(userId);
    assert.ok(await isBack(by, await by.post(path, sent)));
    assert.deepEqual(await signIns(userId), [['pwd']]);
  });

  it('asks for the second factor after a new password, and signs nobody in before', async () => {
    const userId = await addVerified(api, orgId, PASSWORD);
    const secret = await addFactor(userId);
    const { by, path, token, sent } = await withNewPassword(userId);
    const page = await by.post(path, sent);
    assert.deepEqual([page.status, page.text.includes('Enter your code')], [200, true]);
    assert.deepEqual(await signIns(userId), []);
    const { proof = '' } = hiddenOf(page, 'code');
    const code = { step: 'code', token, proof };
    assert.equal((await by.post(path, { ...code, code: wrongCode(secret) })).status, 400);
    assert.equal((await by.post(path, { step: 'resume', token, proof })).status, 400, 'the proof of another step');
    assert.deepEqual(await signIns(userId), []);
    assert.ok(await isBack(by, await by.post(path, { ...code, code: codeAt(secret) })));
    assert.deepEqual(await signIns(userId), [['pwd', 'otp', 'mfa']]);
  });

  it('asks for a second factor that the policy requires and the user does not have', async () => {
    const { orgId: strict } = await api.setupOrg();
    const policy = await api.call('PUT', '/management/v1/policies/login', { forceMfa: true }, { orgId: strict });
    assert.equal(policy.status, 200);
    const userId = await addVerified(api, strict, PASSWORD);
    const { by, path, sent } = await withNewPassword(userId);
    assert.match((await by.post(path, sent)).text, /Set up a second factor/);
    assert.deepEqual(await signIns(userId), []);
  });

  it('is void once the password changes again, or the user is locked', async () => {
    for (const change of [
      `update users set password_changed_at = now() + interval '1 second' where id = $1`,
      `update users set state = 'locked' where id = $1`,
    ]) {
      const userId = await addVerified(api, orgId, PASSWORD);
      const { by, path, sent } = await withNewPassword(userId);
      await api.deps.pool.query(change, [userId]);
      assert.equal((await by.post(path, sent)).status, 400, change);
      assert.deepEqual(await signIns(userId), []);
    }
  });

  it('is not a way into another sign-in', async () => {
    const userId = await addVerified(api, orgId, PASSWORD);
    const { sent } = await withNewPassword(userId);
    const stranger = await open();
    const forged = await stranger.by.post(stranger.path, { ...sent, token: stranger.token });
    assert.equal(forged.status, 400);
    assert.deepEqual(await signIns(userId), []);
  });

  /** Confirms the address of a user with a password, who asked for a link in this browser. */
  const withProvenAddress = async (userId: string) => {
    const opened = await open();
    const { by, path } = opened;
    await by.post('/ui/forgot', { login: path.split('/').at(-1) ?? '', loginName: userId });
    const done = await by.post('/ui/verify', await asked(userId, 'verify_email'));
    assert.match(done.text, /Email address confirmed/);
    return { ...opened, done, sent: hiddenOf(done, 'password') };
  };

  it('leads from a confirmed address to the sign-in, which still asks for the password and the factor', async () => {
    const userId = await addHuman(api, orgId, PASSWORD);
    const secret = await addFactor(userId);
    const { by, path, token, done, sent } = await withProvenAddress(userId);
    assert.match(done.text, />Continue</);
    assert.ok(sent.loginName?.startsWith(`${userId}@`), sent.loginName);
    const page = await by.post(path, sent);
    assert.deepEqual([page.status, page.text.includes('type="password"')], [200, true]);
    assert.ok(page.text.includes(userId), 'the name is there');
    assert.deepEqual(await signIns(userId), []);
    const typed = await by.post(path, { step: 'password', token, loginName: userId, password: PASSWORD });
    const { proof = '' } = hiddenOf(typed, 'code');
    assert.ok(await isBack(by, await by.post(path, { step: 'code', token, proof, code: codeAt(secret) })));
    assert.deepEqual(await signIns(userId), [['pwd', 'otp', 'mfa']]);
  });

  it('leads from a confirmed address in another browser, or after the sign-in has ended, to the application', async () => {
    const userId = await addHuman(api, orgId, PASSWORD);
    const { by, path, token, sent } = await withProvenAddress(userId);
    const elsewhere = await visitor(api).post(path, sent);
    assert.deepEqual([elsewhere.status, elsewhere.headers.get('location')], [303, 'https://app.example.com/']);
    const typed = await by.post(path, { step: 'password', token, loginName: userId, password: PASSWORD });
    assert.ok(await isBack(by, typed));
    const later = await by.post(path, sent);
    assert.deepEqual([later.status, later.headers.get('location')], [303, 'https://app.example.com/']);
    const forged = await by.post(path, { ...sent, home: 'https://evil.example/' });
    assert.equal(forged.status, 410, 'only to an address that we wrote');
  });

  it('is not offered by a link that no sign-in asked for', async () => {
    const userId = await addHuman(api, orgId, PASSWORD);
    const { code } = await mailCode(api, userId, 'verify_email');
    const done = await visitor(api).post('/ui/verify', { userId, code });
    assert.match(done.text, /Email address confirmed/);
    assert.ok(!done.text.includes('>Continue<'));
  });

  it('is the well-known address of password managers', async () => {
    const answer = await visitor(api).get('/.well-known/change-password');
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${api.deps.config.baseUrl}/ui/forgot`]);
  });
});
