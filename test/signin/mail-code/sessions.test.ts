/** A code by mail in the sessions that programs open. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { digitsOf } from '../../../src/messages/mail/sign-in-codes.ts';
import { addHuman, addVerified, allowUrl, humanRow } from '../../directory/users/people.ts';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { codeAt, wrongCode } from '../../support/totp.ts';

const SESSIONS = '/v2beta/sessions';
const PASSWORD = 'correct horse';

describe('a code by mail in a session', () => {
  let api: TestApi;
  let org: SetUp;
  let token: string;
  before(async () => {
    api = await startApi({ env: { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0' } });
  });
  beforeEach(async () => {
    org = await api.setupOrg();
    ({ token } = await api.machine(org.orgId, ['ORG_OWNER']));
  });
  after(() => api.stop());

  const open = (userId: string, otpEmail: object = { sendCode: {} }, more: object = {}, by = token) =>
    api.call('POST', SESSIONS, { checks: { user: { userId }, ...more }, challenges: { otpEmail } }, { token: by });
  const patch = (id: string, body: object, by = token) => api.call('PATCH', `${SESSIONS}/${id}`, body, { token: by });
  const enter = (id: string, code: string, totp?: string, by = token) =>
    patch(id, { checks: { otpEmail: { code }, ...(totp ? { totp: { code: totp } } : {}) } }, by);
  const factors = async (id: string) =>
    Object.keys((await api.call('GET', `${SESSIONS}/${id}`, undefined, { token })).body.session.factors).sort();
  const policy = (body: object) => api.call('PUT', '/management/v1/policies/login', body, { orgId: org.orgId });
  const mails = async (userId: string) => {
    const text = `select code_id, url_template from mail_outbox where user_id = $1 and kind = 'sign_in' order by id`;
    return (await api.deps.pool.query(text, [userId])).rows;
  };
  const mailed = async (userId: string) => {
    const row = (await mails(userId)).at(-1);
    return digitsOf(api.deps.secrets.code(row.code_id, 0));
  };
  const other = (code: string) => String((Number(code) + 1) % 10 ** 8).padStart(8, '0');

  it('is asked for, mailed and checked, and makes an INITIAL user active', async () => {
    const userId = await addHuman(api, org.orgId);
    const opened = await open(userId);
    assert.equal(opened.status, 201, JSON.stringify(opened.body));
    assert.deepEqual(Object.keys(opened.body).sort(), ['details', 'sessionId', 'sessionToken']);
    const { sessionId } = opened.body;
    assert.deepEqual(await factors(sessionId), ['user']);
    const logins = async () =>
      (await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}/logins`)).body.result.length;
    assert.equal(await logins(), 0, 'it only waits');
    const code = await mailed(userId);
    const wrong = await enter(sessionId, other(code));
    assert.deepEqual([wrong.status, errorId(wrong)], [400, 'SESSION-OTP-EMAIL']);
    const checked = await enter(sessionId, code);
    assert.equal(checked.status, 200, JSON.stringify(checked.body));
    assert.notEqual(checked.body.sessionToken, opened.body.sessionToken);
    assert.deepEqual(await factors(sessionId), ['otpEmail', 'user']);
    assert.equal(await logins(), 1);
    const { state, email_verified } = await humanRow(api, userId);
    assert.deepEqual([state, email_verified], ['active', true]);
    assert.equal(errorId(await enter(sessionId, code)), 'SESSION-OTP-EMAIL', 'once');
    assert.equal((await api.call('DELETE', `${SESSIONS}/${sessionId}`, undefined, { token })).status, 200);
  });

  it('is returned to a manager, and then verifies nothing', async () => {
    const initial = await addHuman(api, org.orgId);
    const opened = await open(initial, { returnCode: {} });
    assert.match(opened.body.challenges.otpEmail, /^\d{8}$/);
    assert.equal((await mails(initial)).length, 0);
    assert.equal(errorId(await enter(opened.body.sessionId, opened.body.challenges.otpEmail)), 'SESSION-USER-INITIAL');
    assert.deepEqual((await humanRow(api, initial)).state, 'initial');
    const verified = await addVerified(api, org.orgId);
    await api.deps.pool.query(`update users set state = 'active' where id = $1`, [verified]);
    const second = await open(verified, { returnCode: {} });
    assert.equal((await enter(second.body.sessionId, second.body.challenges.otpEmail)).status, 200);
  });

  it('is not returned, nor linked, by callers without the rights for it', async () => {
    const userId = await addHuman(api, org.orgId);
    const { token: viewer } = await api.machine(org.orgId, ['ORG_OWNER_VIEWER']);
    await allowUrl(api, org.orgId, 'https://app.example.com');
    const link = { sendCode: { urlTemplate: 'https://app.example.com/?code={{.Code}}' } };
    for (const otpEmail of [{ returnCode: {} }, link]) {
      assert.equal((await open(userId, otpEmail, {}, viewer)).status, 403);
    }
    assert.equal((await open(userId, {}, {}, viewer)).status, 201, 'a mail is all that they can ask for');
    const owner = await addVerified(api, org.orgId);
    await api.deps.pool.query(`update users set state = 'active' where id = $1`, [owner]);
    await api.call('POST', '/admin/v1/members', { userId: owner, roles: ['IAM_OWNER'] });
    assert.equal((await open(owner, { returnCode: {} })).status, 403, 'a user with more rights than the caller');
    assert.equal((await open(userId, link)).status, 201);
    assert.equal((await mails(userId)).at(-1).url_template, link.sendCode.urlTemplate);
    const elsewhere = { sendCode: { urlTemplate: 'https://evil.example/{{.Code}}' } };
    assert.equal(errorId(await open(userId, elsewhere)), 'URL-TEMPLATE-NOT-ALLOWED');
  });

  it('is right only in the session that asked, and for the program that opened it', async () => {
    const userId = await addHuman(api, org.orgId);
    const first = (await open(userId)).body.sessionId;
    const code = await mailed(userId);
    const second = (await open(userId)).body.sessionId;
    const newer = await mailed(userId);
    for (const [id, tried] of [
      [first, code],
      [first, newer],
      [second, code],
    ])
      assert.equal(errorId(await enter(id, tried)), 'SESSION-OTP-EMAIL');
    const { token: neighbour } = await api.machine(org.orgId, ['ORG_OWNER']);
    assert.equal(errorId(await enter(second, newer, undefined, neighbour)), 'SESSION-OTP-EMAIL');
    assert.equal((await patch(second, { challenges: { otpEmail: {} } }, neighbour)).status, 403);
    assert.equal((await enter(second, newer)).status, 200);
  });

  it('is tried five times, whoever asks how often', async () => {
    const userId = await addHuman(api, org.orgId);
    const { sessionId } = (await open(userId)).body;
    const code = await mailed(userId);
    const wrong = await Promise.all(Array.from({ length: 5 }, () => enter(sessionId, other(code))));
    assert.deepEqual([...new Set(wrong.map(errorId))], ['SESSION-OTP-EMAIL']);
    assert.equal(errorId(await enter(sessionId, code)), 'SESSION-OTP-EMAIL');
    assert.equal((await patch(sessionId, { challenges: { otpEmail: {} } })).status, 200);
    const newer = await mailed(userId);
    const answers = [];
    for (let i = 0; i < 8; i++) answers.push(errorId(await enter(sessionId, other(newer))));
    assert.equal(answers.at(-1), 'SESSION-FAILURES');
  });

  it('still needs the second factor, and stays valid until both are sent', async () => {
    const userId = await addHuman(api, org.orgId);
    const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
    const { secret } = (await api.call('POST', path)).body;
    await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
    await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
    const { sessionId } = (await open(userId)).body;
    const code = await mailed(userId);
    assert.equal(errorId(await enter(sessionId, code)), 'SESSION-TOTP-REQUIRED');
    assert.equal(errorId(await enter(sessionId, code, wrongCode(secret))), 'SESSION-TOTP');
    assert.equal((await humanRow(api, userId)).state, 'initial');
    assert.equal((await enter(sessionId, code, codeAt(secret))).status, 200);
    assert.deepEqual(await factors(sessionId), ['otpEmail', 'totp', 'user']);
    assert.equal((await humanRow(api, userId)).state, 'active');
  });

  it('is one more factor of a session with a password', async () => {
    await policy({ mailCode: 'all' });
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const { body } = await open(userId, {}, { password: { password: PASSWORD } });
    assert.deepEqual(await factors(body.sessionId), ['password', 'user']);
    assert.equal((await enter(body.sessionId, await mailed(userId))).status, 200);
    assert.deepEqual(await factors(body.sessionId), ['otpEmail', 'password', 'user']);
    assert.equal(errorId(await open(userId, {}, { password: { password: 'wrong' } })), 'SESSION-CREDENTIALS');
  });

  it('is refused to users who may not use one, and to unknown users like a wrong password', async () => {
    const withPassword = await addVerified(api, org.orgId, PASSWORD);
    assert.equal(errorId(await open(withPassword)), 'SESSION-OTP-EMAIL-UNAVAILABLE');
    const both = await open(withPassword, {}, { password: { password: PASSWORD } });
    assert.equal(errorId(both), 'SESSION-OTP-EMAIL-UNAVAILABLE');
    const { rows } = await api.deps.pool.query('select from sessions where user_id = $1', [withPassword]);
    assert.equal(rows.length, 0);
    const locked = await addHuman(api, org.orgId);
    await api.deps.pool.query(`update users set state = 'locked' where id = $1`, [locked]);
    assert.equal(errorId(await open(locked)), 'SESSION-OTP-EMAIL-UNAVAILABLE');
    await policy({ mailCode: 'off' });
    assert.equal(errorId(await open(await addHuman(api, org.orgId))), 'SESSION-OTP-EMAIL-UNAVAILABLE');
    const elsewhere = await api.setupOrg();
    for (const id of ['missing', elsewhere.userId]) assert.equal(errorId(await open(id)), 'SESSION-CREDENTIALS');
  });

  it('counts against the mails of a day that the organization may send', async () => {
    await api.call('PUT', '/management/v1/orgs/me/limits', { mailsPerDay: 1 }, { orgId: org.orgId });
    assert.equal((await open(await addHuman(api, org.orgId))).status, 201);
    const over = await open(await addHuman(api, org.orgId));
    assert.deepEqual([over.status, errorId(over)], [429, 'MAIL-LIMIT']);
  });

  it('names the fields of a bad body, and checks a session token that is sent', async () => {
    const userId = await addHuman(api, org.orgId);
    const user = { userId };
    const create = (body: object) => api.call('POST', SESSIONS, body, { token });
    assert.deepEqual(badFieldsOf(await create({ checks: { user } })), ['checks.password']);
    assert.deepEqual(badFieldsOf(await create({ checks: { user }, challenges: {} })), ['checks.password']);
    const both = { otpEmail: { sendCode: {}, returnCode: {} } };
    assert.deepEqual(badFieldsOf(await create({ checks: { user }, challenges: both })), ['challenges.otpEmail']);
    assert.deepEqual(badFieldsOf(await open(userId, {}, { totp: { code: '123456' } })), ['checks.totp']);
    const { sessionId, sessionToken } = (await open(userId)).body;
    assert.deepEqual(badFieldsOf(await patch(sessionId, {})), ['checks.otpEmail']);
    const code = await mailed(userId);
    const checks = { otpEmail: { code } };
    assert.equal(errorId(await patch(sessionId, { sessionToken: 'x', checks })), 'SESSION-TOKEN');
    assert.equal((await patch(sessionId, { sessionToken, checks })).status, 200);
  });
});
