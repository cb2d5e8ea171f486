import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { attemptKeys } from '../../../src/signin/login/delays.ts';
import {
  addHuman,
  addVerified,
  allowUrl,
  eventsOf,
  humanRow,
  lastMail,
  mailCode,
  tokenOf,
  unsentMails,
} from '../../directory/users/people.ts';
import { type Answer, badFieldsOf, errorId, startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
let orgId: string;

before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
  await allowUrl(api, orgId, 'https://app.example');
});
after(() => api.stop());

const path = (userId: string, rest: string) => `/v2beta/users/${encodeURIComponent(userId)}/${rest}`;
const reset = (userId: string, body?: unknown, token?: string | null) =>
  api.call('POST', path(userId, 'password_reset'), body, { token });
const setPassword = (userId: string, body: Record<string, unknown>, token?: string | null) =>
  api.call('POST', path(userId, 'password'), { newPassword: { password: 'new horse' }, ...body }, { token });
const byCode = (userId: string, verificationCode: string) => setPassword(userId, { verificationCode }, null);
const refused = (answer: Answer) => assert.deepEqual([answer.status, errorId(answer)], [400, 'CODE-INVALID']);

const logIn = (userId: string, password: string) =>
  api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, password: { password } } });
async function setState(userId: string, state: string): Promise<void> {
  await api.deps.pool.query('update users set state = $2 where id = $1', [userId, state]);
}
async function returnedCode(userId: string): Promise<string> {
  const { status, body } = await reset(userId, { returnCode: {} });
  assert.equal(status, 200);
  return body.verificationCode;
}

describe('a reset', () => {
  it('mails a link by default, valid once and for an hour', async () => {
    for (const body of [
      undefined,
      {},
      { sendLink: {} },
      { sendLink: { notificationType: 'NOTIFICATION_TYPE_Email' } },
    ]) {
      const userId = await addVerified(api, orgId, 'old horse');
      const answer = await reset(userId, body);
      assert.deepEqual([answer.status, Object.keys(answer.body)], [200, ['details']]);
      assert.equal(answer.body.details.sequence, (await humanRow(api, userId)).sequence);
      assert.deepEqual(await unsentMails(api, userId), ['reset_password']);
      const { code, codeId } = await lastMail(api, userId);
      const { rows } = await api.deps.pool.query(
        'select extract(epoch from expires_at - now())::float8 as left from codes where id = $1',
        [codeId],
      );
      assert.ok(rows[0].left > 3590 && rows[0].left <= 3600, `${rows[0].left} s`);
      assert.equal((await byCode(userId, code)).status, 200);
      refused(await byCode(userId, code));
      const row = await humanRow(api, userId);
      assert.deepEqual([row.state, row.email_verified], ['active', true]);
      const events = ['user.human.password.code.added', 'user.human.password.changed'];
      assert.deepEqual((await eventsOf(api, userId)).slice(0, 2), events);
      assert.equal((await logIn(userId, 'new horse')).status, 201);
    }
  });

  it('by mail also drops an unsent mail to verify the address, as nothing is left to verify', async () => {
    const userId = await addHuman(api, orgId);
    const { code: verification } = await mailCode(api, userId, 'verify_email');
    await reset(userId);
    const { code } = await lastMail(api, userId);
    assert.equal((await byCode(userId, code)).status, 200);
    assert.ok(!(await unsentMails(api, userId)).includes('verify_email'));
    const verified = await api.call('POST', path(userId, 'email/verify'), { verificationCode: verification });
    assert.deepEqual([verified.status, errorId(verified)], [400, 'CODE-INVALID']);
  });

  it('sends no link to an address that is not verified, unless the user has no password yet', async () => {
    const userId = await addHuman(api, orgId, 'old horse');
    const urlTemplate = 'https://app.example/reset?u={{.UserID}}&c={{.Code}}';
    for (const [by, body] of [
      [await tokenOf(api, userId), {}],
      [api.token, { sendLink: { urlTemplate } }],
    ] as const) {
      const answer = await reset(userId, body, by);
      assert.deepEqual([answer.status, answer.body.details.sequence], [200, (await humanRow(api, userId)).sequence]);
      const { kind, urlTemplate: own, code } = await lastMail(api, userId);
      assert.deepEqual([kind, own], ['verify_email', null], 'the template is for a page that sets a password');
      refused(await byCode(userId, code));
    }
    assert.deepEqual(await unsentMails(api, userId), ['verify_email']);
    const without = await addHuman(api, orgId);
    await setState(without, 'active');
    assert.equal((await reset(without)).status, 200);
    const mail = await lastMail(api, without);
    assert.equal(mail.kind, 'initialise');
    assert.equal((await byCode(without, mail.code)).status, 200);
    assert.equal((await humanRow(api, without)).email_verified, true);
  });

  it("uses the caller's link", async () => {
    const userId = await addVerified(api, orgId, 'old horse');
    const urlTemplate = 'https://app.example/reset?u={{.UserID}}&c={{.Code}}';
    await reset(userId, { sendLink: { urlTemplate } });
    assert.equal((await lastMail(api, userId)).urlTemplate, urlTemplate);
  });

  it('returns the code on request; such a code does not verify the address', async () => {
    const userId = await addHuman(api, orgId, 'old horse');
    const code = await returnedCode(userId);
    assert.deepEqual(await unsentMails(api, userId), []);
    assert.equal((await byCode(userId, code)).status, 200);
    assert.equal((await humanRow(api, userId)).email_verified, false);
  });

  it('revokes the previous code, and expires', async () => {
    const userId = await addVerified(api, orgId, 'old horse');
    await reset(userId);
    const { code: mailed } = await lastMail(api, userId);
    const returned = await returnedCode(userId);
    assert.deepEqual(await unsentMails(api, userId), []);
    refused(await byCode(userId, mailed));
    const backdate = `update codes set expires_at = now() - interval '1 millisecond' where user_id = $1`;
    await api.deps.pool.query(backdate, [userId]);
    refused(await byCode(userId, returned));
    assert.equal((await logIn(userId, 'old horse')).status, 201);
  });

  it('is good after parallel wrong attempts', async () => {
    const userId = await addVerified(api, orgId, 'old horse');
    const code = await returnedCode(userId);
    (await Promise.all(Array.from({ length: 9 }, () => byCode(userId, 'AAAAAAAAAAAA')))).forEach(refused);
    assert.equal((await byCode(userId, code)).status, 200);
  });

  it('sends an INITIAL user the initialisation mail again', async () => {
    const userId = await addHuman(api, orgId);
    const { code: first } = await mailCode(api, userId, 'initialise');
    await reset(userId, { sendLink: {} });
    assert.deepEqual(await unsentMails(api, userId), ['initialise']);
    const { code } = await lastMail(api, userId);
    refused(await byCode(userId, first));
    assert.equal((await byCode(userId, code)).status, 200);
    const other = await addHuman(api, orgId);
    assert.equal((await byCode(other, await returnedCode(other))).status, 200);
    const row = await humanRow(api, other);
    assert.deepEqual([row.state, row.email_verified], ['active', false]);
  });

  it('neither unlocks nor reactivates the user', async () => {
    const userId = await addVerified(api, orgId, 'old horse');
    await setState(userId, 'locked');
    assert.equal((await byCode(userId, await returnedCode(userId))).status, 200);
    assert.equal((await humanRow(api, userId)).state, 'locked');
    assert.equal(errorId(await logIn(userId, 'new horse')), 'SESSION-USER-LOCKED');
    const code = await returnedCode(userId);
    await setState(userId, 'inactive');
    refused(await byCode(userId, code));
    const answer = await reset(userId);
    assert.deepEqual([answer.status, errorId(answer), answer.body.code], [400, 'PASSWORD-RESET-INACTIVE', 9]);
    assert.equal((await humanRow(api, userId)).state, 'inactive');
  });
});

describe('permission to reset a password', () => {
  it('includes users themselves by mail, but does not return them the code', async () => {
    const userId = await addVerified(api, orgId, 'old horse');
    const token = await tokenOf(api, userId);
    assert.equal((await reset(userId, { returnCode: {} }, token)).status, 403);
    assert.equal((await reset(userId, {}, token)).status, 200);
  });

  it('excludes users with more rights than the caller', async () => {
    const owner = await api.setupOrg();
    const { token } = await api.machine(owner.orgId, ['ORG_USER_MANAGER']);
    for (const body of [{}, { returnCode: {} }, { sendLink: { urlTemplate: 'https://evil.example/{{.Code}}' } }]) {
      assert.equal((await reset(owner.userId, body, token)).status, 403);
    }
    assert.deepEqual(await unsentMails(api, owner.userId), []);
  });

  it('is checked in the right order; every invalid field is reported at once', async () => {
    const userId = await addHuman(api, orgId, 'old horse');
    const viewer = await api.machine(orgId, ['ORG_OWNER_VIEWER']);
    assert.equal((await reset(userId, { sendLink: 1 }, null)).status, 401);
    assert.equal((await reset(userId, { sendLink: 1 }, viewer.token)).status, 403);
    assert.equal((await reset('nobody', {}, viewer.token)).status, 403);
    assert.equal((await reset('nobody', {})).status, 404);
    const machine = await reset(viewer.userId, {});
    assert.deepEqual([machine.status, errorId(machine)], [400, 'PASSWORD-NOT-HUMAN']);
    const sendLink = { urlTemplate: 'nope', notificationType: 'NOTIFICATION_TYPE_SMS' };
    const bad = await reset(userId, { sendLink, returnCode: {} });
    assert.deepEqual(badFieldsOf(bad), ['returnCode', 'sendLink.notificationType', 'sendLink.urlTemplate']);
  });
});

describe('a new password', () => {
  async function withSession(): Promise<{ userId: string; sessionPath: string }> {
    const userId = await addHuman(api, orgId, 'old horse');
    const { body } = await logIn(userId, 'old horse');
    return { userId, sessionPath: `/v2beta/sessions/${body.sessionId}` };
  }
  const statusOf = async (sessionPath: string) => (await api.call('GET', sessionPath)).status;

  it("ends the user's sessions when set by a code or a manager, but not with the current password", async () => {
    const coded = await withSession();
    await byCode(coded.userId, await returnedCode(coded.userId));
    assert.equal(await statusOf(coded.sessionPath), 404);
    const managed = await withSession();
    assert.equal((await setPassword(managed.userId, {})).status, 200);
    assert.equal(await statusOf(managed.sessionPath), 404);
    const own = await withSession();
    const token = await tokenOf(api, own.userId);
    assert.equal((await setPassword(own.userId, { currentPassword: 'old horse' }, token)).status, 200);
    assert.equal(await statusOf(own.sessionPath), 200);
  });

  it('revokes every code that could set another one', async () => {
    const userId = await addHuman(api, orgId, 'old horse');
    const { code: initialise } = await mailCode(api, userId, 'initialise');
    const returned = await returnedCode(userId);
    const token = await tokenOf(api, userId);
    assert.equal((await setPassword(userId, { currentPassword: 'old horse' }, token)).status, 200);
    refused(await byCode(userId, initialise));
    refused(await byCode(userId, returned));
    assert.deepEqual(await unsentMails(api, userId), []);
  });

  it('must differ only if a change is due', async () => {
    const userId = await addHuman(api, orgId, 'old horse');
    const token = await tokenOf(api, userId);
    const same = { newPassword: { password: 'old horse' }, currentPassword: 'old horse' };
    assert.equal((await setPassword(userId, same, token)).status, 200);
    await api.deps.pool.query('update users set password_change_required = true where id = $1', [userId]);
    const answer = await setPassword(userId, same, token);
    assert.deepEqual([answer.status, badFieldsOf(answer)], [400, ['newPassword.password']]);
    assert.equal((await setPassword(userId, { currentPassword: 'old horse' }, token)).status, 200);
    assert.equal((await humanRow(api, userId)).password_change_required, false);
  });

  it('is refused if another one was set during the check of the current one', async () => {
    const userId = await addHuman(api, orgId, 'old horse');
    const token = await tokenOf(api, userId);
    const change = (password: string) =>
      setPassword(userId, { newPassword: { password }, currentPassword: 'old horse' }, token);
    const answers = await Promise.all(['one horse', 'two horses', 'three horses'].map(change));
    assert.deepEqual(answers.map((a) => a.status).sort(), [200, 400, 400]);
  });

  it('counts wrong current passwords as failed logins', async () => {
    const userId = await addHuman(api, orgId, 'old horse');
    const token = await tokenOf(api, userId);
    for (let i = 0; i < 3; i++) {
      const wrong = await setPassword(userId, { currentPassword: 'wrong' }, token);
      assert.deepEqual([wrong.status, errorId(wrong)], [400, 'PASSWORD-CURRENT']);
    }
    const { here } = attemptKeys(api.deps.secrets, { userId }, { network: '127.0.0.1', through: userId });
    const failures = async () =>
      (await api.deps.pool.query('select failures from login_delays where bucket = $1', [here])).rows[0].failures;
    assert.equal(await failures(), 3);
    assert.equal((await byCode(userId, await returnedCode(userId))).status, 200);
    await setPassword(userId, { currentPassword: 'wrong' }, await tokenOf(api, userId));
    assert.equal(await failures(), 1, 'a new password resets the attempts');
  });
});
