import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman, eventsOf, humanRow, mailCode, tokenOf } from '../../directory/users/people.ts';
import { type Answer, badFieldsOf, errorId, startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
let orgId: string;

before(async () => {
  api = await startApi({ env: { TRUST_PROXY: '1', RATE_LIMIT_LOGINS: '0' } });
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

const path = (userId: string, rest: string) => `/v2beta/users/${encodeURIComponent(userId)}/${rest}`;
const verify = (userId: string, verificationCode: unknown, token?: string | null) =>
  api.call('POST', path(userId, 'email/verify'), { verificationCode }, { token });
const setPassword = (userId: string, body: unknown, token?: string | null) =>
  api.call('POST', path(userId, 'password'), body, { token });
const withCode = (verificationCode: string, password = 'new password') => ({
  newPassword: { password },
  verificationCode,
});

/** An invalid code in the right format. */
const WRONG = 'AAAAAAAAAAAA';

function refused(answer: Answer): void {
  const message = 'The code is wrong, already used or expired.';
  assert.equal(answer.status, 400);
  assert.deepEqual(answer.body, {
    code: 3,
    message,
    details: [{ '@type': 'type.googleapis.com/service.v1.ErrorDetail', id: 'CODE-INVALID', message }],
  });
}

async function logIn(userId: string, password: string): Promise<number> {
  const checks = { user: { userId }, password: { password } };
  return (await api.call('POST', '/v2beta/sessions', { checks })).status;
}

describe('email/verify', () => {
  it('marks the address verified, once', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const { code } = await mailCode(api, userId, 'verify_email');
    const answer = await verify(userId, ` ${code.toLowerCase()} `);
    assert.equal(answer.status, 200);
    const row = await humanRow(api, userId);
    assert.deepEqual([row.email_verified, row.state], [true, 'active']);
    assert.deepEqual(Object.keys(answer.body.details), ['sequence', 'changeDate', 'resourceOwner']);
    assert.deepEqual([answer.body.details.sequence, answer.body.details.resourceOwner], [row.sequence, orgId]);
    assert.deepEqual(await eventsOf(api, userId), ['user.human.email.verified']);
    refused(await verify(userId, code));
  });

  it('does not activate a user without a password; their code can still set the password', async () => {
    const userId = await addHuman(api, orgId);
    const { code } = await mailCode(api, userId, 'initialise');
    assert.equal((await verify(userId, code)).status, 200);
    const row = await humanRow(api, userId);
    assert.deepEqual([row.email_verified, row.state], [true, 'initial']);
    refused(await verify(userId, code));
    assert.equal((await setPassword(userId, withCode(code), null)).status, 200);
    assert.equal((await humanRow(api, userId)).state, 'active');
  });

  it('is allowed for the user and for managers; errors come in the right order', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const other = await api.setupOrg();
    const manager = await api.machine(orgId, ['ORG_USER_MANAGER']);
    const viewer = await api.machine(orgId, ['ORG_OWNER_VIEWER']);
    const stranger = await api.machine(other.orgId, ['ORG_OWNER']);
    const anonymous = await verify(userId, WRONG, null);
    assert.deepEqual([anonymous.status, anonymous.headers.get('www-authenticate')], [401, 'Bearer']);
    assert.equal((await verify(userId, WRONG, 'no-token')).status, 401);
    assert.equal((await verify(userId, 1, viewer.token)).status, 403);
    assert.equal((await verify(userId, WRONG, stranger.token)).status, 403);
    assert.equal((await verify('nobody', WRONG, stranger.token)).status, 403);
    assert.equal((await verify('nobody', WRONG)).status, 404);
    refused(await verify(userId, WRONG, manager.token));
    assert.deepEqual(badFieldsOf(await verify(userId, 1, manager.token)), ['verificationCode']);
    const { code } = await mailCode(api, userId, 'verify_email');
    assert.equal((await verify(userId, code, await tokenOf(api, userId))).status, 200);
  });
});

describe('a code', () => {
  it('is ended by no number of wrong ones, in a row or in parallel', async () => {
    for (const inParallel of [false, true]) {
      const userId = await addHuman(api, orgId);
      const { code } = await mailCode(api, userId, 'initialise');
      const guess = () => setPassword(userId, withCode(WRONG), null);
      if (inParallel) (await Promise.all(Array.from({ length: 12 }, guess))).forEach(refused);
      else for (let i = 0; i < 12; i++) refused(await guess());
      assert.equal((await setPassword(userId, withCode(code), null)).status, 200);
      assert.equal((await humanRow(api, userId)).state, 'active');
    }
  });

  it('is refused for an hour in a network that has entered many wrong ones, and there alone', async () => {
    const userId = await addHuman(api, orgId);
    const { code } = await mailCode(api, userId, 'initialise');
    const enter = (entered: string, address: string) =>
      api.call('POST', path(userId, 'password'), withCode(entered), {
        token: null,
        headers: { 'x-forwarded-for': address },
      });
    const guesses = await Promise.all(Array.from({ length: 110 }, () => enter(WRONG, '203.0.113.9')));
    assert.deepEqual(
      [400, 429].map((status) => guesses.filter((answer) => answer.status === status).length),
      [100, 10],
    );
    const limited = await enter(code, '203.0.113.9');
    assert.deepEqual([limited.status, errorId(limited)], [429, 'RATE-LIMIT']);
    const retryAfter = Number(limited.headers.get('retry-after'));
    assert.ok(retryAfter > 3500 && retryAfter <= 3600, String(retryAfter));
    assert.equal((await enter(code, '203.0.113.8')).status, 200);
  });

  it('that is wrong counts for each user apart, if a program enters it', async () => {
    const [one, other] = [await addHuman(api, orgId), await addHuman(api, orgId)];
    const { token } = await api.machine(orgId, ['ORG_USER_MANAGER']);
    await Promise.all(Array.from({ length: 100 }, () => verify(one, WRONG, token)));
    assert.equal((await verify(one, WRONG, token)).status, 429);
    refused(await verify(other, WRONG, token));
  });

  it('expires', async () => {
    const userId = await addHuman(api, orgId);
    const { code, codeId } = await mailCode(api, userId, 'initialise');
    await api.deps.pool.query(`update codes set expires_at = now() - interval '1 millisecond' where id = $1`, [codeId]);
    refused(await setPassword(userId, withCode(code), null));
    refused(await verify(userId, code));
  });

  it('is used only once by parallel calls', async () => {
    const userId = await addHuman(api, orgId);
    const { code } = await mailCode(api, userId, 'initialise');
    const both = await Promise.all(
      ['first horse', 'second horse'].map((p) => setPassword(userId, withCode(code, p), null)),
    );
    assert.deepEqual(both.map((a) => a.status).sort(), [200, 400]);
    refused(both.find((a) => a.status === 400) as Answer);
    refused(await setPassword(userId, withCode(code), null));
    assert.equal(await logIn(userId, both[0]?.status === 200 ? 'first horse' : 'second horse'), 201);
  });

  it('is valid only for its own user and purpose', async () => {
    const [one, other] = [await addHuman(api, orgId), await addHuman(api, orgId)];
    const { code } = await mailCode(api, one, 'initialise');
    await mailCode(api, other, 'initialise');
    refused(await setPassword(other, withCode(code), null));
    refused(await setPassword('nobody', withCode(code), null));
    const { code: forAddress } = await mailCode(api, one, 'verify_email');
    refused(await setPassword(one, withCode(forAddress), null));
  });
});

describe('password', () => {
  it('can be set by anybody with the code of the initialisation mail', async () => {
    const userId = await addHuman(api, orgId);
    const { code } = await mailCode(api, userId, 'initialise');
    const newPassword = { password: 'pässwörd 李', changeRequired: true };
    const answer = await setPassword(userId, { newPassword, verificationCode: code }, null);
    assert.equal(answer.status, 200);
    const row = await humanRow(api, userId);
    assert.deepEqual([row.state, row.email_verified, row.password_change_required], ['active', true, true]);
    assert.equal(answer.body.details.sequence, row.sequence);
    assert.deepEqual(await eventsOf(api, userId), ['user.human.initialised']);
    assert.equal(await logIn(userId, 'pässwörd 李'), 201);
  });

  it('accepts the code from a caller without other permissions, also in snake_case', async () => {
    const userId = await addHuman(api, orgId);
    const { code } = await mailCode(api, userId, 'initialise');
    const stranger = await api.machine((await api.setupOrg()).orgId);
    const body = { new_password: { password: 'snake horse', change_required: false }, verification_code: code };
    assert.equal((await setPassword(userId, body, stranger.token)).status, 200);
  });

  it('has 8 to 200 characters; an invalid one does not use up the code', async () => {
    const userId = await addHuman(api, orgId);
    const { code } = await mailCode(api, userId, 'initialise');
    for (const password of ['', '😀'.repeat(7), '😀'.repeat(201), undefined, 7, 'a\0b']) {
      const answer = await setPassword(userId, { newPassword: { password }, verificationCode: code }, null);
      assert.deepEqual([answer.status, badFieldsOf(answer)], [400, ['newPassword.password']]);
    }
    assert.equal((await setPassword(userId, withCode(code, '😀'.repeat(200)), null)).status, 200);
    assert.equal(await logIn(userId, '😀'.repeat(200)), 201);
  });

  it('can be changed by users with their current one', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const token = await tokenOf(api, userId);
    const newPassword = { password: 'new horse' };
    const wrong = await setPassword(userId, { newPassword, currentPassword: 'wrong' }, token);
    assert.deepEqual([wrong.status, errorId(wrong)], [400, 'PASSWORD-CURRENT']);
    const missing = await setPassword(userId, { newPassword }, token);
    assert.deepEqual([missing.status, badFieldsOf(missing)], [400, ['currentPassword']]);
    const both = await setPassword(userId, { newPassword, currentPassword: 'old', verificationCode: WRONG }, token);
    assert.deepEqual([both.status, badFieldsOf(both)], [400, ['verificationCode']]);
    assert.equal((await setPassword(userId, { newPassword, currentPassword: 'old' }, token)).status, 200);
    assert.equal(await logIn(userId, 'new horse'), 201);
    assert.equal(await logIn(userId, 'old'), 400);
    assert.equal((await humanRow(api, userId)).email_verified, false);
  });

  it('can be set by managers, which revokes the code of the mail', async () => {
    const manager = await api.machine(orgId, ['ORG_USER_MANAGER']);
    const userId = await addHuman(api, orgId);
    const { code } = await mailCode(api, userId, 'initialise');
    assert.equal((await setPassword(userId, { newPassword: { password: 'set horse' } }, manager.token)).status, 200);
    const row = await humanRow(api, userId);
    assert.deepEqual([row.state, row.email_verified], ['active', false]);
    assert.deepEqual(await eventsOf(api, userId), ['user.human.password.changed']);
    assert.equal(await logIn(userId, 'set horse'), 201);
    refused(await setPassword(userId, withCode(code), null));
  });

  it('is refused to all others before the body is read', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const viewer = await api.machine(orgId, ['ORG_OWNER_VIEWER']);
    const bodies = [{ newPassword: { password: 'x' } }, {}, '{broken'];
    for (const body of bodies) {
      assert.equal((await setPassword(userId, body, null)).status, 401);
      assert.equal((await setPassword(userId, body, viewer.token)).status, 403);
      assert.equal((await setPassword('nobody', body, viewer.token)).status, 403);
      assert.equal((await setPassword('nobody', body)).status, 404);
    }
    assert.equal(errorId(await setPassword(userId, '{broken')), 'REQUEST-JSON');
    const large = JSON.stringify({ newPassword: { password: 'x' }, verificationCode: 'x', more: 'x'.repeat(70_000) });
    assert.equal((await setPassword(userId, large, null)).status, 401, 'an unauthenticated body is limited');
    assert.equal((await setPassword(userId, large)).status, 413);
    assert.deepEqual(badFieldsOf(await setPassword(userId, {})), ['newPassword']);
    assert.equal((await humanRow(api, userId)).sequence, '1');
  });

  it('of a user with more rights cannot be set, and machines have none', async () => {
    const setup = await api.setupOrg();
    const manager = await api.machine(setup.orgId, ['ORG_USER_MANAGER']);
    const newPassword = { password: 'new horse' };
    assert.equal((await setPassword(setup.userId, { newPassword }, manager.token)).status, 403);
    assert.equal((await setPassword(setup.userId, { newPassword })).status, 200);
    const machine = await setPassword(manager.userId, { newPassword });
    assert.deepEqual([machine.status, errorId(machine)], [400, 'PASSWORD-NOT-HUMAN']);
  });
});
