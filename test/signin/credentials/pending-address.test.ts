/** A new address or number that users set themselves counts only once it is confirmed. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { requestPasswordReset } from '../../../src/signin/credentials/password-reset.ts';
import {
  addHuman,
  addVerified,
  contactOf,
  eventsOf,
  lastMail,
  mailCode,
  tokenOf,
  unsentMails,
} from '../../directory/users/people.ts';
import { type Answer, errorId, startApi, type TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

const OLD = 'ann@example.com';
const NEW = 'thief@evil.example';
const [OLD_PHONE, NEW_PHONE] = ['+41791234567', '+420601123456'];

const call = (userId: string, rest: string, body: unknown, token?: string) =>
  api.call('POST', `/v2beta/users/${encodeURIComponent(userId)}/${rest}`, body, { token });
const verify = (userId: string, what: string, verificationCode: string) =>
  call(userId, `${what}/verify`, { verificationCode });
const refused = (answer: Answer) => assert.deepEqual([answer.status, errorId(answer)], [400, 'CODE-INVALID']);

async function ann(): Promise<{ userId: string; token: string }> {
  const userId = await addVerified(api, orgId, 'old password');
  await api.deps.pool.query('update users set phone = $2, phone_verified = true where id = $1', [userId, OLD_PHONE]);
  return { userId, token: await tokenOf(api, userId) };
}

/** The unsent mails and where they go; null: to the user's own address. */
async function mailsOf(userId: string): Promise<string[][]> {
  const { rows } = await api.deps.pool.query(
    `select kind, address from mail_outbox where user_id = $1 and state = 'pending' order by id`,
    [userId],
  );
  return rows.map((row) => [row.kind, row.address]);
}

async function emailOf(userId: string): Promise<[string, boolean]> {
  const { email, emailVerified } = await contactOf(api, userId);
  return [email, emailVerified];
}

describe('a new email address', () => {
  it('of the user is pending; the old one stays, is told, and gets the resets', async () => {
    const { userId, token } = await ann();
    const answer = await call(userId, 'email', { email: NEW }, token);
    assert.deepEqual([answer.status, Object.keys(answer.body)], [200, ['details']]);
    assert.deepEqual(await mailsOf(userId), [
      ['email_changed', OLD],
      ['verify_email', NEW],
    ]);
    const { body } = await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`);
    assert.deepEqual(body.user.human.email, { email: OLD, isVerified: true });
    assert.equal(body.details.sequence, answer.body.details.sequence);
    await requestPasswordReset(api.deps, { loginName: userId });
    await waitFor(async () => (await unsentMails(api, userId)).includes('reset_password'), { what: 'the reset' });
    assert.deepEqual((await mailsOf(userId)).at(-1), ['reset_password', null]);
  });

  it('replaces the old one when its code is used, and ends the codes of the old one', async () => {
    const { userId, token } = await ann();
    await call(userId, 'email', { email: NEW }, token);
    const { code } = await lastMail(api, userId);
    const { code: reset } = await mailCode(api, userId, 'reset_password');
    assert.equal((await verify(userId, 'email', code)).status, 200);
    assert.deepEqual(await emailOf(userId), [NEW, true]);
    const events = ['user.human.email.change.requested', 'user.human.email.changed'];
    assert.deepEqual(await eventsOf(api, userId), events);
    refused(await verify(userId, 'email', code));
    const newPassword = { password: 'a new password' };
    refused(await call(userId, 'password', { newPassword, verificationCode: reset }));
  });

  it('is pending also in a change of the whole user', async () => {
    const { userId, token } = await ann();
    const body = { email: { email: NEW }, phone: { phone: NEW_PHONE }, profile: { nickName: 'Annie' } };
    const answer = await api.call('PUT', `/v2beta/users/human/${encodeURIComponent(userId)}`, body, { token });
    assert.equal(answer.status, 200);
    const { email, phone } = await contactOf(api, userId);
    assert.deepEqual([email, phone], [OLD, OLD_PHONE]);
  });

  it('can have its code sent again, and is given up for the old one', async () => {
    const { userId, token } = await ann();
    await call(userId, 'email', { email: NEW }, token);
    const { code: first } = await lastMail(api, userId);
    assert.equal((await call(userId, 'email/resend', {}, token)).status, 200);
    assert.deepEqual((await mailsOf(userId)).at(-1), ['verify_email', NEW]);
    refused(await verify(userId, 'email', first));
    const { code: second } = await lastMail(api, userId);
    assert.equal((await call(userId, 'email', { email: OLD, sendCode: {} }, token)).status, 200);
    refused(await verify(userId, 'email', second));
    assert.deepEqual([await emailOf(userId), await mailsOf(userId)], [[OLD, true], [['email_changed', OLD]]]);
    assert.equal(errorId(await call(userId, 'email/resend', {}, token)), 'EMAIL-VERIFIED');
  });

  it('is given up with a new password, and by a change of a manager', async () => {
    for (const change of [
      (userId: string) => call(userId, 'password', { newPassword: { password: 'a new password' } }),
      (userId: string) => call(userId, 'email', { email: 'b@example.com', isVerified: true }),
    ]) {
      const { userId, token } = await ann();
      await call(userId, 'email', { email: NEW }, token);
      const { code } = await lastMail(api, userId);
      assert.equal((await change(userId)).status, 200);
      refused(await verify(userId, 'email', code));
      assert.notEqual((await emailOf(userId))[0], NEW);
    }
  });

  it('expires with its code', async () => {
    const { userId, token } = await ann();
    await call(userId, 'email', { email: NEW }, token);
    await api.deps.pool.query(`update codes set expires_at = now() - interval '1 s' where user_id = $1`, [userId]);
    assert.equal(errorId(await call(userId, 'email/resend', {}, token)), 'EMAIL-VERIFIED');
  });

  it('counts at once where the old one was not verified, and nobody is told', async () => {
    const userId = await addHuman(api, orgId, 'old password');
    await call(userId, 'email', { email: NEW }, await tokenOf(api, userId));
    assert.deepEqual([await emailOf(userId), await mailsOf(userId)], [[NEW, false], [['verify_email', null]]]);
  });

  it('counts at once where an owner vouches for their own; the old one is told', async () => {
    const { userId, token } = await ann();
    const member = { userId, roles: ['ORG_OWNER'] };
    await api.call('POST', '/management/v1/orgs/me/members', member, { orgId });
    assert.equal((await call(userId, 'email', { email: NEW, isVerified: true }, token)).status, 200);
    assert.deepEqual([await emailOf(userId), await mailsOf(userId)], [[NEW, true], [['email_changed', OLD]]]);
  });
});

describe('a new phone number', () => {
  it('of the user is pending until its code is used', async () => {
    const { userId, token } = await ann();
    assert.equal((await call(userId, 'phone', { phone: NEW_PHONE }, token)).status, 200);
    assert.deepEqual(await mailsOf(userId), [['verify_phone', NEW_PHONE]]);
    const { code: first } = await lastMail(api, userId);
    assert.equal((await contactOf(api, userId)).phone, OLD_PHONE);
    assert.equal((await call(userId, 'phone/resend', {}, token)).status, 200);
    refused(await verify(userId, 'phone', first));
    const { code } = await lastMail(api, userId);
    assert.equal((await verify(userId, 'phone', code)).status, 200);
    const { phone, phoneVerified } = await contactOf(api, userId);
    assert.deepEqual([phone, phoneVerified], [NEW_PHONE, true]);
    assert.deepEqual(await eventsOf(api, userId), [
      'user.human.phone.change.requested',
      'user.human.phone.code.added',
      'user.human.phone.changed',
    ]);
  });
});
