/** T15: the password alone changes nothing about how somebody signs in whose second factor an import lost. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { requestPasswordReset } from '../../../src/signin/credentials/password-reset.ts';
import { addHuman, addVerified, contactOf, humanRow, tokenOf, unsentMails } from '../../directory/users/people.ts';
import { type Answer, errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { codeAt } from '../../support/totp.ts';
import { atAccount } from '../account/person.ts';
import { addClient, hiddenOf, visitor } from '../pages/visitor.ts';
import { alertOf } from '../providers/traveller.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' } });
  org = await api.setupOrg();
});
after(() => api.stop());

const PASSWORD = 'correct horse battery';
const NEW = 'another horse battery';
const POLICY = '/management/v1/policies/login';

async function lose(userId: string): Promise<string> {
  await api.deps.pool.query('insert into user_factors (user_id, lost_at) values ($1, now())', [userId]);
  return userId;
}
const withLostFactor = async () => lose(await addVerified(api, org.orgId, PASSWORD));
const call = (method: string, userId: string, rest: string, body: object, token: string) =>
  api.call(method, `/v2beta/users/${encodeURIComponent(userId)}${rest}`, body, { token });

/** The newest code that was mailed to confirm a change. */
async function mailedCode(userId: string): Promise<string> {
  const { rows } = await api.deps.pool.query<{ id: string }>(
    `select code_id as id from mail_outbox where user_id = $1 and kind = 'confirm_change' order by id desc limit 1`,
    [userId],
  );
  return api.deps.secrets.code(rows[0]?.id ?? '', 0);
}

/** Changes that users make themselves. */
const DOORS: Readonly<Record<string, (userId: string, token: string, proof: object) => Promise<Answer>>> = {
  'an authenticator app': (id, token, proof) => call('POST', id, '/totp', proof, token),
  'another address': (id, token, proof) => call('POST', id, '/email', { email: 'thief@example.com', ...proof }, token),
  'another number': (id, token, proof) => call('POST', id, '/phone', { phone: '+41791234567', ...proof }, token),
  'another password': (id, token, proof) =>
    call('POST', id, '/password', { newPassword: { password: NEW }, currentPassword: PASSWORD, ...proof }, token),
};
const put = (userId: string, body: object, token: string) =>
  api.call('PUT', `/v2beta/users/human/${encodeURIComponent(userId)}`, body, { token });

describe('a user whose second factor was lost', () => {
  for (const [name, door] of Object.entries(DOORS)) {
    it(`gets no ${name} by the API without the password and a code from their mailbox`, async () => {
      const userId = await withLostFactor();
      const token = await tokenOf(api, userId);
      const without = await door(userId, token, {});
      assert.deepEqual([without.status, errorId(without)], [400, 'FACTOR-LOST']);
      const alone = await door(userId, token, { currentPassword: PASSWORD });
      assert.equal(errorId(alone), 'FACTOR-LOST', JSON.stringify(alone.body));
      assert.deepEqual(await unsentMails(api, userId), ['confirm_change'], 'one code was mailed');
      const wrong = await door(userId, token, { currentPassword: PASSWORD, mailedCode: 'AAAAAAAAAAAA' });
      assert.equal(errorId(wrong), 'CODE-INVALID');
      const mine = { mailedCode: await mailedCode(userId) };
      const proof = { currentPassword: PASSWORD, ...mine };
      assert.equal(errorId(await door(userId, token, { ...proof, currentPassword: 'wrong' })), 'PASSWORD-CURRENT');
      await api.deps.pool.query(`update codes set used_at = null where user_id = $1`, [userId]);
      assert.equal((await door(userId, token, proof)).status, 200);
      const again = await door(userId, token, {
        ...proof,
        currentPassword: name === 'another password' ? NEW : PASSWORD,
      });
      assert.equal(errorId(again), 'CODE-INVALID', 'the code is used');
    });
  }

  it('gets codes by mail as a factor only with the password and a code, and is then no longer without one', async () => {
    const userId = await withLostFactor();
    const token = await tokenOf(api, userId);
    const add = (proof: object) => call('POST', userId, '/otp_email', proof, token);
    for (const proof of [{}, { currentPassword: PASSWORD }]) assert.equal(errorId(await add(proof)), 'FACTOR-LOST');
    const wrong = await add({ currentPassword: PASSWORD, mailedCode: 'AAAAAAAAAAAA' });
    assert.equal(errorId(wrong), 'CODE-INVALID');
    const done = await add({ currentPassword: PASSWORD, mailedCode: await mailedCode(userId) });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    const text = 'select otp_email, lost_at from user_factors where user_id = $1';
    assert.deepEqual((await api.deps.pool.query(text, [userId])).rows, [{ otp_email: true, lost_at: null }]);
  });

  it('gets no other address or password with a change of the user', async () => {
    const userId = await withLostFactor();
    const token = await tokenOf(api, userId);
    for (const body of [
      { email: { email: 'thief@example.com' } },
      { phone: { phone: '+41791234567' } },
      { password: { password: { password: NEW }, currentPassword: PASSWORD } },
    ]) {
      assert.equal(errorId(await put(userId, { ...body, currentPassword: PASSWORD }, token)), 'FACTOR-LOST');
    }
    assert.deepEqual(await contactOf(api, userId), {
      email: 'ann@example.com',
      emailVerified: true,
      phone: null,
      phoneVerified: false,
    });
  });

  it('is one no more with a new factor', async () => {
    const userId = await withLostFactor();
    const token = await tokenOf(api, userId);
    await call('POST', userId, '/totp', { currentPassword: PASSWORD }, token);
    const proof = { currentPassword: PASSWORD, mailedCode: await mailedCode(userId) };
    const { body } = await call('POST', userId, '/totp', proof, token);
    assert.equal((await call('POST', userId, '/totp/verify', { code: codeAt(body.secret) }, token)).status, 200);
    const changed = await call('POST', userId, '/email', { email: 'new@example.com' }, token);
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    assert.ok((await unsentMails(api, userId)).includes('factor_added'));
  });

  it('gets no code without a verified address, nor a link to choose a password', async () => {
    const userId = await lose(await addHuman(api, org.orgId, PASSWORD));
    const token = await tokenOf(api, userId);
    const refused = await call('POST', userId, '/totp', { currentPassword: PASSWORD }, token);
    assert.equal(errorId(refused), 'FACTOR-LOST');
    assert.match(refused.body.message, /an administrator has to help/);
    const none = await lose(await addHuman(api, org.orgId));
    await requestPasswordReset(api.deps, { loginName: none });
    await requestPasswordReset(api.deps, { loginName: userId });
    const kinds = [...(await unsentMails(api, none)), ...(await unsentMails(api, userId))];
    assert.deepEqual(
      kinds.filter((kind) => kind !== 'verify_email'),
      [],
    );
  });

  it('is one no more with codes by mail as a factor, which need the code from the mailbox too', async () => {
    const userId = await withLostFactor();
    const token = await tokenOf(api, userId);
    const add = (proof: object) => call('POST', userId, '/otp_email', proof, token);
    assert.equal(errorId(await add({ currentPassword: PASSWORD })), 'FACTOR-LOST');
    const added = await add({ currentPassword: PASSWORD, mailedCode: await mailedCode(userId) });
    assert.equal(added.status, 200, JSON.stringify(added.body));
    const { rows } = await api.deps.pool.query('select lost_at from user_factors where user_id = $1', [userId]);
    assert.deepEqual(rows, [{ lost_at: null }]);
  });

  it('is one also with a passkey that came along, which the password alone does not need', async () => {
    const userId = await withLostFactor();
    await api.deps.pool.query(
      `insert into user_passkeys (id, credential_id, user_id, public_key, rp_id) values ($1, $2, $3, 'key', 'old.example')`,
      [`key of ${userId}`, Buffer.from(userId), userId],
    );
    const token = await tokenOf(api, userId);
    for (const door of Object.values(DOORS)) {
      assert.equal(errorId(await door(userId, token, { currentPassword: PASSWORD })), 'FACTOR-LOST');
    }
    const at = await atAccount(api, userId, PASSWORD);
    assert.equal((await at.open('email')).at, '/account/confirm?to=email');
  });

  it('is helped by a manager, who needs no code', async () => {
    const userId = await withLostFactor();
    const { token } = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
    assert.equal((await call('POST', userId, '/password', { newPassword: { password: NEW } }, token)).status, 200);
  });

  it('sets up the factor that is required, or another password, on the sign-in page with a code only', async () => {
    const clientId = await addClient(api);
    for (const step of ['setup', 'change'] as const) {
      const userId = await withLostFactor();
      if (step === 'setup') await api.call('PUT', POLICY, { forceMfa: true }, { orgId: org.orgId });
      else await api.deps.pool.query('update users set password_change_required = true where id = $1', [userId]);
      const by = visitor(api);
      const path = await by.begin(clientId);
      const fields = hiddenOf(await by.get(path), 'password');
      const asked = await by.post(path, { ...fields, loginName: userId, password: PASSWORD });
      await api.call('PUT', POLICY, { forceMfa: false }, { orgId: org.orgId });
      assert.match(asked.text, /<h1>Confirm that it is you<\/h1>/, asked.text);
      const hidden = hiddenOf(asked, 'lost-code');
      const password = { password: NEW, repeated: NEW };
      const skipped = await by.post(path, { ...hidden, step, code: '123456', ...password });
      assert.doesNotMatch(skipped.headers.get('location') ?? '', /code=/);
      assert.equal((await humanRow(api, userId)).password_change_required, step === 'change');
      const wrong = await by.post(path, { ...hidden, code: 'AAAAAAAAAAAA' });
      assert.match(alertOf(wrong), /code is wrong/);
      const next = await by.post(path, { ...hidden, code: await mailedCode(userId) });
      assert.match(next.text, step === 'setup' ? /Set up a second factor/ : /Choose a new password/);
      const sent = hiddenOf(next, step);
      const [, key = ''] = /<code class="key">([A-Z2-7 ]+)</.exec(next.text) ?? [];
      const done = await by.post(path, { ...sent, code: codeAt(key.replaceAll(' ', '')), ...password });
      assert.equal(done.status, 303, alertOf(done));
    }
  });

  it('confirms on the pages of the account first, and only in that browser', async () => {
    const userId = await withLostFactor();
    const at = await atAccount(api, userId, PASSWORD);
    const factors = ['authenticators', 'recovery-codes', 'sent-codes', 'passkeys'];
    for (const section of ['email', 'phone', 'password', 'links', ...factors]) {
      assert.equal((await at.open(section)).at, `/account/confirm?to=${section}`);
    }
    const token = /name="token" value="([^"]*)"/.exec((await at.open('profile')).text)?.[1] ?? '';
    const posted = await at.post('email', { token, step: 'change', email: 'thief@example.com' });
    assert.match(posted.headers.get('location') ?? '', /\/account\/confirm\?to=email$/);
    const sent = await at.send(await at.open('email'), 'confirm', 'send');
    assert.equal(sent.at, '/account/confirm?done=sent&to=email');
    const code = await mailedCode(userId);
    const enter = (fields: Record<string, string>) => at.send(sent, 'confirm', 'confirm', fields);
    assert.match(alertOf(await enter({ code, currentPassword: 'wrong' })), /password is wrong/);
    assert.match(alertOf(await enter({ code: 'AAAAAAAAAAAA', currentPassword: PASSWORD })), /code is wrong/);
    assert.equal((await enter({ code, currentPassword: PASSWORD })).at, '/account/email');
    assert.equal((await at.open('password')).at, '/account/password');
    const other = await atAccount(api, userId, PASSWORD);
    assert.equal((await other.open('email')).at, '/account/confirm?to=email');
    assert.match(
      alertOf(await other.send(await other.open('email'), 'confirm', 'confirm', { code, currentPassword: PASSWORD })),
      /code is wrong/,
    );
    assert.equal((await humanRow(api, userId)).state, 'active');
  });
});
