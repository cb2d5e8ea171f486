/** How many mails and text messages users get in a day at their own request, or at that of anybody. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { sweepMailCounts } from '../../../src/messages/mail/codes.ts';
import { requestPasswordReset } from '../../../src/signin/credentials/password-reset.ts';
import { addHuman, addVerified, lastMail, mailCode, tokenOf, unsentMails } from '../../directory/users/people.ts';
import { type Answer, errorId, startApi, type TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';

const LIMIT = 3;
let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi({ env: { RATE_LIMIT_MAILS: String(LIMIT) } });
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

const call = (userId: string, rest: string, body: unknown, token?: string) =>
  api.call('POST', `/v2beta/users/${encodeURIComponent(userId)}/${rest}`, body, { token });
const mailsOf = async (userId: string) =>
  (await api.deps.pool.query('select id from mail_outbox where user_id = $1', [userId])).rowCount;

function assertLimited(answer: Answer): void {
  assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [429, 8, 'MAIL-LIMIT']);
  const retryAfter = Number(answer.headers.get('retry-after'));
  assert.ok(retryAfter > 86_000 && retryAfter <= 86_400, String(retryAfter));
}

it('users get a few in all ways together; then a change is refused as a whole', async () => {
  const userId = await addHuman(api, orgId, 'old horse');
  const token = await tokenOf(api, userId);
  assert.equal((await call(userId, 'email', { email: 'a@example.com' }, token)).status, 200);
  assert.equal((await call(userId, 'email/resend', {}, token)).status, 200);
  assert.equal((await call(userId, 'phone', { phone: '+41791112233' }, token)).status, 200);
  const before = await call(userId, 'phone/verify', { verificationCode: 'WRONG' }, token);
  assert.equal(before.status, 400);
  for (const [rest, body] of [
    ['email', { email: 'victim@example.com' }],
    ['email/resend', {}],
    ['phone', { phone: '+41791112234' }],
    ['phone/resend', {}],
    ['password_reset', {}],
  ] as const) {
    assertLimited(await call(userId, rest, body, token));
  }
  const put = { email: { email: 'victim@example.com' } };
  assertLimited(await api.call('PUT', `/v2beta/users/human/${encodeURIComponent(userId)}`, put, { token }));
  const { body } = await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`);
  assert.equal(body.user.human.email.email, 'a@example.com');
  assert.equal((await call(userId, 'email/resend', {})).status, 200, 'managers may');
});

it('parallel requests do not exceed the limit', async () => {
  const userId = await addHuman(api, orgId, 'old horse');
  const token = await tokenOf(api, userId);
  const answers = await Promise.all(Array.from({ length: 8 }, () => call(userId, 'email/resend', {}, token)));
  assert.equal(answers.filter((a) => a.status === 200).length, LIMIT);
  assert.equal(answers.filter((a) => a.status === 429).length, 8 - LIMIT);
});

it('strangers get a user a few resets a day, and the user may still act', async () => {
  const userId = await addVerified(api, orgId, 'old horse');
  for (let sent = 1; sent <= LIMIT; sent++) {
    await requestPasswordReset(api.deps, { loginName: userId });
    await waitFor(async () => (await mailsOf(userId)) === sent, { what: `mail ${sent}` });
    const age = `update mail_outbox set created_at = created_at - interval '2 minutes', state = 'sent' where user_id = $1`;
    await api.deps.pool.query(age, [userId]);
  }
  await requestPasswordReset(api.deps, { loginName: userId });
  // Once a later request of another user is processed, so is this one.
  const other = await addVerified(api, orgId, 'old horse');
  await requestPasswordReset(api.deps, { loginName: other });
  await waitFor(async () => (await unsentMails(api, other)).length > 0, { what: 'the other mail' });
  assert.equal(await mailsOf(userId), LIMIT);
  assert.equal((await lastMail(api, userId)).kind, 'reset_password');
  const token = await tokenOf(api, userId);
  assert.equal((await call(userId, 'email', { email: 'b@example.com' }, token)).status, 200);
});

it('the holder of an earlier link gets a new one, however many strangers have asked for', async () => {
  const userId = await addVerified(api, orgId, 'old horse');
  const { pool } = api.deps;
  const ask = async (code: string) => {
    const body = new URLSearchParams({ userId, code, action: 'reset' });
    const answer = await fetch(`${api.url}/ui/new-link`, { method: 'POST', body });
    assert.equal(answer.status, 200);
    // What comes after the answer has begun then, and takes a connection.
    await setImmediate();
    await waitFor(() => pool.idleCount === pool.totalCount, { what: 'idle connections' });
    const age = `update mail_outbox set created_at = created_at - interval '2 minutes', state = 'sent' where user_id = $1`;
    await pool.query(age, [userId]);
    return mailsOf(userId);
  };
  await requestPasswordReset(api.deps, { loginName: userId });
  await waitFor(async () => (await mailsOf(userId)) === 1, { what: 'the mail' });
  const { code } = await lastMail(api, userId);
  for (let i = 0; i < LIMIT + 2; i++) await ask(i % 2 === 0 ? '' : 'AAAAAAAAAAAA');
  assert.equal(await mailsOf(userId), LIMIT);
  await pool.query(`update codes set expires_at = now() - interval '1 day' where user_id = $1`, [userId]);
  assert.equal(await ask(code), LIMIT + 1);
  const newest = await lastMail(api, userId);
  assert.notEqual(newest.code, code);
  // An old link that somebody else has found gets few mails sent; each newer one leads on.
  for (const expected of [2, 3, 3, 3]) assert.equal(await ask(code), LIMIT + expected);
  assert.equal(await ask(newest.code), LIMIT + 4);
  const { rows } = await pool.query('select requester, mails from mail_counts where user_id = $1', [userId]);
  assert.deepEqual(rows, [{ requester: 'anybody', mails: LIMIT }]);
  // A code that was handed out, not mailed, proves nothing; nor does the code of somebody else.
  const handedOut = await call(userId, 'password_reset', { returnCode: {} });
  assert.equal(await ask(handedOut.body.verificationCode), LIMIT + 4);
  const other = await addVerified(api, orgId, 'old horse');
  assert.equal(await ask((await mailCode(api, other, 'reset_password')).code), LIMIT + 4);
});

it('the count restarts after a day, and old counts are removed', async () => {
  const userId = await addHuman(api, orgId, 'old horse');
  const token = await tokenOf(api, userId);
  for (let i = 0; i < LIMIT; i++) await call(userId, 'email/resend', {}, token);
  assertLimited(await call(userId, 'email/resend', {}, token));
  const { pool } = api.deps;
  await pool.query(`update mail_counts set since = since - interval '24 hours' where user_id = $1`, [userId]);
  assert.equal((await call(userId, 'email/resend', {}, token)).status, 200);
  assert.equal(await sweepMailCounts(pool), 0);
  await pool.query(`update mail_counts set since = since - interval '24 hours' where user_id = $1`, [userId]);
  assert.equal(await sweepMailCounts(pool), 1);
});
