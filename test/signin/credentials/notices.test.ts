/** What the address of a user is told of changes of their account. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman, addVerified, mailCode, tokenOf, unsentMails } from '../../directory/users/people.ts';
import { type Answer, startApi, type TestApi } from '../../support/api.ts';
import { codeAt } from '../../support/totp.ts';

let api: TestApi;
let orgId: string;
let manager: string;

before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
  manager = (await api.machine(orgId, ['ORG_USER_MANAGER'])).token;
});
after(() => api.stop());

const PASSWORD = 'correct horse battery';
const call = async (method: string, userId: string, rest: string, body: unknown, token?: string | null) => {
  const answer: Answer = await api.call(method, `/v2beta/users/${encodeURIComponent(userId)}/${rest}`, body, { token });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
};
const newPassword = { password: 'another horse battery' };

describe('a new password', () => {
  it('is told, whoever sets it', async () => {
    const mine = await addVerified(api, orgId, PASSWORD);
    await call('POST', mine, 'password', { newPassword, currentPassword: PASSWORD }, await tokenOf(api, mine));
    assert.deepEqual(await unsentMails(api, mine), ['password_changed']);
    const theirs = await addHuman(api, orgId, PASSWORD);
    await call('POST', theirs, 'password', { newPassword }, manager);
    assert.deepEqual(await unsentMails(api, theirs), ['password_changed']);
    const reset = await addHuman(api, orgId, PASSWORD);
    const { code } = await mailCode(api, reset, 'reset_password');
    await call('POST', reset, 'password', { newPassword, verificationCode: code }, null);
    const told = (await unsentMails(api, reset)).filter((kind) => kind !== 'reset_password');
    assert.deepEqual(told, ['password_changed'], 'the code has verified the address');
  });

  it('is no news where it is the first one, or to an address that nobody has verified', async () => {
    const first = await addHuman(api, orgId);
    const { code } = await mailCode(api, first, 'initialise');
    await call('POST', first, 'password', { newPassword, verificationCode: code }, null);
    assert.ok(!(await unsentMails(api, first)).includes('password_changed'));
    const mine = await addHuman(api, orgId, PASSWORD);
    await call('POST', mine, 'password', { newPassword, currentPassword: PASSWORD }, await tokenOf(api, mine));
    assert.deepEqual(await unsentMails(api, mine), []);
  });
});

describe('a second factor', () => {
  it('is told when it counts and when it is gone, and not before', async () => {
    const userId = await addVerified(api, orgId, PASSWORD);
    const token = await tokenOf(api, userId);
    await call('POST', userId, 'totp', {}, token);
    await call('DELETE', userId, 'totp', {}, token);
    const { secret } = await call('POST', userId, 'totp', {}, token);
    assert.deepEqual(await unsentMails(api, userId), []);
    await call('POST', userId, 'totp/verify', { code: codeAt(secret) }, token);
    assert.deepEqual(await unsentMails(api, userId), ['factor_added']);
    await call('DELETE', userId, 'totp', {}, manager);
    assert.deepEqual(await unsentMails(api, userId), ['factor_added', 'factor_removed']);
  });
});

describe('a phone number', () => {
  it('is told when it is set, changed and removed', async () => {
    const userId = await addVerified(api, orgId, PASSWORD);
    await api.deps.pool.query(`update users set phone = '+41791234567', phone_verified = true where id = $1`, [userId]);
    const token = await tokenOf(api, userId);
    const asked = { phone: '+420601123456', returnCode: {} };
    const { verificationCode } = await call('POST', userId, 'phone', asked, manager);
    assert.deepEqual(await unsentMails(api, userId), ['phone_changed']);
    await call('POST', userId, 'phone/verify', { verificationCode }, token);
    await call('DELETE', userId, 'phone', {}, token);
    assert.deepEqual(await unsentMails(api, userId), ['phone_changed', 'phone_changed']);
  });
});
