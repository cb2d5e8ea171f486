/** The update of a session by the program that opened it: what refuses a right code, and what refuses another one. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { transaction } from '../../../src/platform/db/pool.ts';
import { addHuman, addVerified, allowUrl, humanRow } from '../../directory/users/people.ts';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';

const SESSIONS = '/v2beta/sessions';
const PASSWORD = 'correct horse';
/** As many attempts of one user are under way or wait. */
const MOST_ATTEMPTS = 128;

describe('the update of a session', () => {
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

  const patch = (id: string, body: object, by = token) => api.call('PATCH', `${SESSIONS}/${id}`, body, { token: by });
  const enter = (id: string, code: string) => patch(id, { checks: { otpEmail: { code } } });
  const ask = (id: string, otpEmail: object = {}, by = token) => patch(id, { challenges: { otpEmail } }, by);
  const policy = (body: object) => api.call('PUT', '/management/v1/policies/login', body, { orgId: org.orgId });
  const setState = (userId: string, state: string) =>
    api.deps.pool.query('update users set state = $2 where id = $1', [userId, state]);

  /** A session that waits for a code, which the program knows. */
  async function waiting(given?: string): Promise<{ userId: string; sessionId: string; code: string }> {
    const userId = given ?? (await addVerified(api, org.orgId));
    await setState(userId, 'active');
    const body = { checks: { user: { userId } }, challenges: { otpEmail: { returnCode: {} } } };
    const opened = await api.call('POST', SESSIONS, body, { token });
    assert.equal(opened.status, 201, JSON.stringify(opened.body));
    return { userId, sessionId: opened.body.sessionId, code: opened.body.challenges.otpEmail };
  }

  async function isOpen(sessionId: string): Promise<boolean> {
    const { body } = await api.call('GET', `${SESSIONS}/${sessionId}`, undefined, { token });
    return body.session.factors.otpEmail !== undefined;
  }

  /** Changes users while a request waits for the row of one of them. */
  async function meanwhile<T>(userId: string, request: () => Promise<T>, change: string): Promise<T> {
    let answer: Promise<T> | undefined;
    await transaction(api.deps.pool, async (db) => {
      await db.query('select from users where id = $1 for update', [userId]);
      answer = request();
      const blocked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await waitFor(async () => (await api.deps.pool.query(blocked)).rowCount, { what: 'the request to wait' });
      await db.query(change, [userId]);
    });
    return answer as Promise<T>;
  }

  it('opens no session for a user who was locked, deactivated or not yet active meanwhile, and unlocks nobody', async () => {
    for (const [state, id] of [
      ['locked', 'SESSION-USER-LOCKED'],
      ['inactive', 'SESSION-USER-INACTIVE'],
      ['initial', 'SESSION-USER-INITIAL'],
    ] as const) {
      const { userId, sessionId, code } = await waiting();
      await setState(userId, state);
      const refused = await enter(sessionId, code);
      assert.deepEqual([refused.status, errorId(refused)], [400, id]);
      assert.equal((await humanRow(api, userId)).state, state);
      await setState(userId, 'active');
      assert.equal(errorId(await enter(sessionId, code)), 'SESSION-OTP-EMAIL', 'the code is used up');
      assert.equal(await isOpen(sessionId), false);
    }
  });

  it('asks for no code for a user who is locked, or may not use one any more', async () => {
    const { userId, sessionId } = await waiting();
    await setState(userId, 'locked');
    assert.equal(errorId(await ask(sessionId)), 'SESSION-OTP-EMAIL-UNAVAILABLE');
    await setState(userId, 'active');
    assert.equal((await ask(sessionId)).status, 200);
    await policy({ mailCode: 'off' });
    const off = await ask(sessionId);
    assert.deepEqual([off.status, errorId(off)], [400, 'SESSION-OTP-EMAIL-UNAVAILABLE']);
    const { rows } = await api.deps.pool.query(`select from mail_outbox where user_id = $1 and kind = 'sign_in'`, [
      userId,
    ]);
    assert.equal(rows.length, 1, 'of the one that was allowed');
  });

  it('refuses a code after the policy has ended codes, and needs a factor that the policy requires', async () => {
    const first = await waiting();
    await policy({ mailCode: 'off' });
    assert.equal(errorId(await enter(first.sessionId, first.code)), 'SESSION-OTP-EMAIL');
    await policy({ mailCode: 'all', forceMfa: true });
    const second = await waiting();
    const refused = await enter(second.sessionId, second.code);
    assert.deepEqual([refused.status, errorId(refused)], [400, 'SESSION-MFA-SETUP-REQUIRED']);
    for (const { sessionId } of [first, second]) assert.equal(await isOpen(sessionId), false);
  });

  it('refuses a code of a user who gets another password while it is checked', async () => {
    await policy({ mailCode: 'all' });
    const { userId, sessionId, code } = await waiting(await addVerified(api, org.orgId, PASSWORD));
    const change = 'update users set password_changed_at = now() where id = $1';
    const refused = await meanwhile(userId, () => enter(sessionId, code), change);
    assert.deepEqual([refused.status, errorId(refused)], [400, 'SESSION-CREDENTIALS']);
    assert.equal(await isOpen(sessionId), false);
  });

  it('asks for no code for a user who is deleted meanwhile', async () => {
    const { userId, sessionId } = await waiting();
    const answer = await meanwhile(userId, () => ask(sessionId), 'delete from users where id = $1');
    assert.deepEqual([answer.status, errorId(answer)], [400, 'SESSION-CREDENTIALS']);
  });

  it('links only to places that the organization allows, and mails only as many as it may', async () => {
    const { sessionId } = await waiting();
    await allowUrl(api, org.orgId, 'https://app.example.com');
    const linking = (host: string) => ask(sessionId, { sendCode: { urlTemplate: `https://${host}/?c={{.Code}}` } });
    const elsewhere = await linking('evil.example');
    assert.deepEqual([elsewhere.status, errorId(elsewhere)], [400, 'URL-TEMPLATE-NOT-ALLOWED']);
    await api.call('PUT', '/management/v1/orgs/me/limits', { mailsPerDay: 1 }, { orgId: org.orgId });
    assert.equal((await linking('app.example.com')).status, 200);
    const over = await ask(sessionId);
    assert.deepEqual([over.status, errorId(over)], [429, 'MAIL-LIMIT']);
    assert.equal((await ask(sessionId, { returnCode: {} })).status, 200, 'a code that is not mailed');
  });

  it('answers 429 to more attempts at once than may wait, before it checks them', async () => {
    const { sessionId, code } = await waiting();
    let attempts: ReturnType<typeof enter>[] = [];
    await transaction(api.deps.pool, async (db) => {
      await db.query('lock table login_delays in access exclusive mode');
      attempts = Array.from({ length: MOST_ATTEMPTS + 2 }, () => enter(sessionId, '00000000'));
      const first = await Promise.race(attempts);
      assert.deepEqual([first.status, errorId(first)], [429, 'SESSION-ATTEMPTS']);
      assert.ok(first.headers.get('retry-after'));
    });
    const ids = (await Promise.all(attempts)).map(errorId);
    assert.equal(ids.filter((id) => id === 'SESSION-ATTEMPTS').length, 2);
    assert.equal(errorId(await enter(sessionId, code)), 'SESSION-FAILURES');
  });

  it('is for the program that opened the session, with its newest token, and for one check at least', async () => {
    const { sessionId, code } = await waiting();
    const { token: neighbour } = await api.machine(org.orgId, ['ORG_OWNER']);
    const { token: viewer } = await api.machine(org.orgId, ['ORG_OWNER_VIEWER']);
    for (const other of [neighbour, viewer]) {
      assert.equal((await ask(sessionId, {}, other)).status, 403);
      assert.equal(errorId(await patch(sessionId, { checks: { otpEmail: { code } } }, other)), 'SESSION-OTP-EMAIL');
    }
    const elsewhere = await api.setupOrg();
    const { token: foreign } = await api.machine(elsewhere.orgId, ['ORG_OWNER']);
    assert.equal((await ask(sessionId, {}, foreign)).status, 403);
    assert.deepEqual(badFieldsOf(await patch(sessionId, {})), ['checks.otpEmail']);
    const asked = await ask(sessionId, { returnCode: {} });
    const answer = await patch(sessionId, {
      sessionToken: asked.body.sessionToken,
      checks: { otpEmail: { code: asked.body.challenges.otpEmail } },
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const old = await ask(sessionId, { returnCode: {} });
    assert.equal(old.status, 200);
    const stale = await patch(sessionId, { sessionToken: answer.body.sessionToken, challenges: { otpEmail: {} } });
    assert.deepEqual([stale.status, errorId(stale)], [400, 'SESSION-TOKEN']);
  });

  it('makes an INITIAL user active only by a code that was mailed', async () => {
    const userId = await addHuman(api, org.orgId);
    const body = { checks: { user: { userId } }, challenges: { otpEmail: { returnCode: {} } } };
    const { sessionId, challenges } = (await api.call('POST', SESSIONS, body, { token })).body;
    assert.equal(errorId(await enter(sessionId, challenges.otpEmail)), 'SESSION-USER-INITIAL');
    assert.equal((await humanRow(api, userId)).state, 'initial');
  });
});
