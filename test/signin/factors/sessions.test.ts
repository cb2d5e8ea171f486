/** Codes by text message and by mail in the sessions that programs open: alone, and as the second factor after a password. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { digitsOf } from '../../../src/messages/mail/sign-in-codes.ts';
import { sweepWaitingSessions } from '../../../src/signin/sessions.ts';
import { addHuman, addVerified, humanRow } from '../../directory/users/people.ts';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { other } from '../mail-code/asks.ts';
import { newNumber } from '../sms-code/texts.ts';

const SESSIONS = '/v2beta/sessions';
const PASSWORD = 'correct horse';
const KINDS = [
  ['otpSms', 'factor_text', 'sms'],
  ['otpEmail', 'factor_mail', 'otp'],
] as const;
type Kind = (typeof KINDS)[number][0];

let api: TestApi;
let org: SetUp;
let token: string;
before(async () => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', LOCK_AFTER_FAILURES: '0' };
  api = await startApi({ env: { ...env, SMS_URL: 'http://127.0.0.1:9/' } });
});
beforeEach(async () => {
  org = await api.setupOrg();
  ({ token } = await api.machine(org.orgId, ['ORG_OWNER']));
});
after(() => api.stop());

const query = (text: string, values: unknown[]) => api.deps.pool.query(text, values);
const post = (body: object, by = token) => api.call('POST', SESSIONS, body, { token: by });
const patch = (id: string, body: object, by = token) => api.call('PATCH', `${SESSIONS}/${id}`, body, { token: by });
const enter = (id: string, kind: Kind, code: string, by = token) => patch(id, { checks: { [kind]: { code } } }, by);
const policy = (body: object) => api.call('PUT', '/management/v1/policies/login', body, { orgId: org.orgId });
const factors = async (id: string) =>
  Object.keys((await api.call('GET', `${SESSIONS}/${id}`, undefined, { token })).body.session.factors).sort();
const logins = async (userId: string) =>
  (await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}/logins`)).body.result.length;

/** Somebody with a password, a verified number and address, and these factors. */
async function person(...kinds: Kind[]): Promise<string> {
  const userId = await addVerified(api, org.orgId, PASSWORD);
  await query('update users set phone = $2, phone_verified = true where id = $1', [userId, newNumber()]);
  const text = 'insert into user_factors (user_id, otp_sms, otp_email) values ($1, $2, $3)';
  await query(text, [userId, kinds.includes('otpSms'), kinds.includes('otpEmail')]);
  return userId;
}

const withPassword = (userId: string, challenges?: object, password = PASSWORD, by = token) =>
  post({ checks: { user: { userId }, password: { password } }, ...(challenges ? { challenges } : {}) }, by);

async function sent(userId: string, kind: string): Promise<string[]> {
  const text = 'select code_id from mail_outbox where user_id = $1 and kind::text = $2 order by id';
  return (await query(text, [userId, kind])).rows.map((row) => digitsOf(api.deps.secrets.code(row.code_id, 0)));
}
const newest = async (userId: string, kind: string) => (await sent(userId, kind)).at(-1) ?? '';

for (const [kind, purpose, amr] of KINDS) {
  describe(`${kind} as the second factor of a session`, () => {
    it('is asked for with the right password, sent, and opens the session once', async () => {
      const userId = await person(kind);
      const alone = await withPassword(userId);
      assert.deepEqual([alone.status, errorId(alone)], [400, 'SESSION-TOTP-REQUIRED'], 'the password alone');
      assert.equal(errorId(await withPassword(userId, { [kind]: {} }, 'wrong')), 'SESSION-CREDENTIALS');
      assert.deepEqual(await sent(userId, purpose), []);
      const opened = await withPassword(userId, { [kind]: { sendCode: {} } });
      assert.equal(opened.status, 201, JSON.stringify(opened.body));
      const { sessionId } = opened.body;
      assert.deepEqual([await factors(sessionId), await logins(userId)], [['user'], 0], 'it waits');
      const code = await newest(userId, purpose);
      const wrong = await enter(sessionId, kind, other(code));
      assert.deepEqual([wrong.status, errorId(wrong)], [400, 'SESSION-TOTP']);
      const done = await enter(sessionId, kind, code);
      assert.equal(done.status, 200, JSON.stringify(done.body));
      assert.deepEqual([await factors(sessionId), await logins(userId)], [[kind, 'password', 'user'], 1]);
      const audit = `select payload->'amr' as amr from audit_events where user_id = $1 and type = 'user.signin.succeeded'`;
      assert.deepEqual((await query(audit, [userId])).rows, [{ amr: ['pwd', amr, 'mfa'] }]);
      assert.equal((await enter(sessionId, kind, code)).status, 400, 'it is used');
    });

    it('is right only in its session, for its program, with the password that was checked', async () => {
      const userId = await person(kind);
      const first = (await withPassword(userId, { [kind]: {} })).body.sessionId;
      const older = await newest(userId, purpose);
      const second = (await withPassword(userId, { [kind]: {} })).body.sessionId;
      const code = await newest(userId, purpose);
      assert.equal((await enter(first, kind, code)).status, 400);
      assert.equal((await enter(second, kind, older)).status, 400);
      const { token: neighbour } = await api.machine(org.orgId, ['ORG_OWNER']);
      assert.equal((await enter(second, kind, code, neighbour)).status, 400);
      assert.equal((await patch(second, { challenges: { [kind]: {} } }, neighbour)).status, 403);
      const stranger = await person(kind);
      const theirs = (await withPassword(stranger, { [kind]: {} })).body.sessionId;
      assert.equal((await enter(theirs, kind, code)).status, 400, 'of another user');
      const changed = 'update users set password_changed_at = now() where id = $1';
      await query(changed, [userId]);
      assert.equal((await enter(second, kind, code)).status, 400, 'with another password');
      for (const id of [first, second, theirs]) assert.deepEqual(await factors(id), ['user']);
    });

    it('is asked for again in the session that waits, and returned to managers only', async () => {
      const userId = await person(kind);
      const { sessionId } = (await withPassword(userId, { [kind]: {} })).body;
      const again = await patch(sessionId, { challenges: { [kind]: { returnCode: {} } } });
      assert.equal(again.status, 200, JSON.stringify(again.body));
      assert.match(again.body.challenges[kind], /^\d{8}$/);
      assert.deepEqual(await sent(userId, purpose), [], 'it is only returned, and the code before is ended');
      const { token: viewer } = await api.machine(org.orgId, ['ORG_OWNER_VIEWER']);
      assert.equal((await withPassword(userId, { [kind]: { returnCode: {} } }, PASSWORD, viewer)).status, 403);
      assert.equal((await enter(sessionId, kind, again.body.challenges[kind])).status, 200);
    });

    it('is not one that the user does not have, nor one that nobody can use now', async () => {
      const userId = await person(kind === 'otpSms' ? 'otpEmail' : 'otpSms');
      assert.equal(errorId(await withPassword(userId, { [kind]: {} })), 'SESSION-TOTP-REQUIRED');
      const unverified = await person(kind);
      await query('update users set phone_verified = false, email_verified = false where id = $1', [unverified]);
      assert.equal(errorId(await withPassword(unverified, { [kind]: {} })), 'SESSION-TOTP-REQUIRED');
      const { rows } = await query('select from sessions where user_id = any($1)', [[userId, unverified]]);
      assert.equal(rows.length, 0);
    });

    it('opens no session with an expired password, or of a user who is locked meanwhile', async () => {
      const userId = await person(kind);
      const { sessionId } = (await withPassword(userId, { [kind]: {} })).body;
      await query(`update users set state = 'locked' where id = $1`, [userId]);
      assert.equal(errorId(await enter(sessionId, kind, await newest(userId, purpose))), 'SESSION-USER-LOCKED');
      await query(`update users set state = 'active', password_changed_at = now() - interval '99 days' where id = $1`, [
        userId,
      ]);
      const set = await api.call(
        'POST',
        '/management/v1/policies/password/age',
        { maxAgeDays: 9 },
        { orgId: org.orgId },
      );
      assert.equal(set.status, 200, JSON.stringify(set.body));
      const old = (await withPassword(userId, { [kind]: {} })).body.sessionId;
      assert.equal(errorId(await enter(old, kind, await newest(userId, purpose))), 'SESSION-PASSWORD-EXPIRED');
      assert.deepEqual(await factors(old), ['user']);
    });

    it('is checked alone, and a session that waited too long is removed', async () => {
      const userId = await person(kind);
      const { sessionId } = (await withPassword(userId, { [kind]: {} })).body;
      const checks = { [kind]: { code: await newest(userId, purpose) }, totp: { code: '123456' } };
      assert.deepEqual(badFieldsOf(await patch(sessionId, { checks })), ['checks.totp']);
      await query(`update sessions set created_at = now() - interval '2 hours' where id = $1`, [sessionId]);
      await sweepWaitingSessions(api.deps.pool);
      assert.equal((await query('select from sessions where id = $1', [sessionId])).rowCount, 0);
    });
  });
}

describe('a code by text message that opens a session', () => {
  const open = (userId: string, otpSms: object = {}) => post({ checks: { user: { userId } }, challenges: { otpSms } });
  async function reachable(password?: string): Promise<string> {
    const userId = await addHuman(api, org.orgId, password);
    await query('update users set phone = $2, phone_verified = true where id = $1', [userId, newNumber()]);
    return userId;
  }

  it('is sent where the policy allows it, right once, and makes an INITIAL user active', async () => {
    const userId = await reachable();
    const off = await open(userId);
    assert.deepEqual([off.status, errorId(off)], [400, 'SESSION-OTP-SMS-UNAVAILABLE']);
    await policy({ smsCode: 'withoutPassword' });
    const { sessionId } = (await open(userId)).body;
    const code = await newest(userId, 'sign_in_text');
    for (const kind of ['otpSms', 'otpEmail'] as const) {
      const id = kind === 'otpSms' ? 'SESSION-OTP-SMS' : 'SESSION-OTP-EMAIL';
      assert.equal(errorId(await enter(sessionId, kind, kind === 'otpSms' ? other(code) : code)), id);
    }
    assert.equal((await enter(sessionId, 'otpSms', code)).status, 200);
    assert.deepEqual([await factors(sessionId), await logins(userId)], [['otpSms', 'user'], 1]);
    assert.equal((await humanRow(api, userId)).state, 'active');
    assert.equal(errorId(await enter(sessionId, 'otpSms', code)), 'SESSION-OTP-SMS', 'once');
    assert.equal(errorId(await open(await reachable(PASSWORD))), 'SESSION-OTP-SMS-UNAVAILABLE');
  });

  it('is no second factor after itself, and asks for that of the user', async () => {
    await policy({ smsCode: 'all' });
    const userId = await person('otpSms');
    const { sessionId } = (await open(userId)).body;
    const code = await newest(userId, 'sign_in_text');
    assert.equal(errorId(await enter(sessionId, 'otpSms', code)), 'SESSION-TOTP-REQUIRED');
    assert.equal(
      errorId(await patch(sessionId, { checks: { otpSms: { code }, totp: { code: '1' } } })),
      'SESSION-TOTP',
    );
    assert.deepEqual(await sent(userId, 'factor_text'), []);
    assert.deepEqual(await factors(sessionId), ['user']);
  });

  it('is one more factor of an open session, and limited for each number', async () => {
    await policy({ smsCode: 'all' });
    const userId = await reachable(PASSWORD);
    const { sessionId } = (await withPassword(userId, { otpSms: {} })).body;
    assert.deepEqual(await factors(sessionId), ['password', 'user']);
    assert.equal((await enter(sessionId, 'otpSms', await newest(userId, 'sign_in_text'))).status, 200);
    assert.deepEqual(await factors(sessionId), ['otpSms', 'password', 'user']);
    const asks = [];
    for (let n = 0; n < 6; n++) asks.push((await open(userId)).status);
    assert.equal(asks.at(-1), 429);
    assert.match((await open(userId, { returnCode: {} })).body.challenges.otpSms, /^\d{8}$/);
  });

  it('names the fields of a bad body', async () => {
    const userId = await reachable();
    assert.deepEqual(badFieldsOf(await open(userId, { sendCode: {}, returnCode: {} })), ['challenges.otpSms']);
    await policy({ smsCode: 'all' });
    const { sessionId } = (await open(userId)).body;
    const checks = { otpSms: { code: '1' }, otpEmail: { code: '1' } };
    assert.deepEqual(badFieldsOf(await patch(sessionId, { checks })), ['checks']);
  });
});

it('a session that waits tells why the user cannot get what it asks for', async () => {
  const userId = await addVerified(api, org.orgId);
  const challenges = { otpEmail: { returnCode: {} } };
  const { body } = await post({ checks: { user: { userId } }, challenges });
  assert.ok(body.sessionId, JSON.stringify(body));
  const text = await patch(body.sessionId, { challenges: { otpSms: { returnCode: {} } } });
  assert.equal(errorId(text), 'SESSION-OTP-SMS-UNAVAILABLE');
  const key = await patch(body.sessionId, { challenges: { webAuthN: { domain: 'localhost' } } });
  assert.equal(errorId(key), 'SESSION-WEBAUTHN-UNAVAILABLE');
});
