/** The second factor at the password check of a session. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addHuman } from '../directory/users/people.ts';
import { type Answer, badFieldsOf, type SetUp, startApi, type TestApi } from '../support/api.ts';
import { codeAt, wrongCode } from '../support/totp.ts';

const PASSWORD = 'correct horse';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ env: { LOCK_AFTER_FAILURES: '4', LOGIN_DELAY_MS: '0' } });
  org = await api.setupOrg();
});
after(() => api.stop());

const login = (userId: string, code?: unknown, password = PASSWORD) => {
  const totp = code === undefined ? {} : { totp: { code } };
  return api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, password: { password }, ...totp } });
};
const problem = ({ status, body }: Answer) => [status, body.code, body.details[0].id];
const CREDENTIALS = [400, 3, 'SESSION-CREDENTIALS'];
const REQUIRED = [400, 9, 'SESSION-TOTP-REQUIRED'];
const WRONG = [400, 3, 'SESSION-TOTP'];

/** A human with an active factor whose current code is still unused. */
async function withTotp(): Promise<{ userId: string; secret: string }> {
  const userId = await addHuman(api, org.orgId, PASSWORD);
  const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
  const { secret } = (await api.call('POST', path)).body;
  const verified = await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
  assert.equal(verified.status, 200);
  await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
  return { userId, secret };
}

test('a code is required, accepted once, and recorded in the session', async () => {
  const { userId, secret } = await withTotp();
  assert.deepEqual(problem(await login(userId)), REQUIRED);
  assert.deepEqual(problem(await login(userId, '')), [400, 3, 'SESSION-INVALID']);
  const code = codeAt(secret);
  const made = await login(userId, `${code.slice(0, 3)} ${code.slice(3)}`);
  assert.equal(made.status, 201);
  const { session } = (await api.call('GET', `/v2beta/sessions/${made.body.sessionId}`)).body;
  assert.deepEqual(Object.keys(session.factors), ['user', 'password', 'totp']);
  assert.deepEqual(problem(await login(userId, code)), WRONG, 'the same code again');
});

test('without a factor, or with a pending one, the password is enough', async () => {
  const userId = await addHuman(api, org.orgId, PASSWORD);
  assert.equal((await login(userId)).status, 201);
  await api.call('POST', `/v2beta/users/${encodeURIComponent(userId)}/totp`);
  const made = await login(userId);
  assert.equal(made.status, 201);
  const { session } = (await api.call('GET', `/v2beta/sessions/${made.body.sessionId}`)).body;
  assert.deepEqual(Object.keys(session.factors), ['user', 'password']);
});

test('after removal no code is required', async () => {
  const { userId } = await withTotp();
  await api.call('DELETE', `/v2beta/users/${encodeURIComponent(userId)}/totp`);
  assert.equal((await login(userId)).status, 201);
});

test('nothing reveals the factor before the right password, and no code is consumed', async () => {
  const { userId, secret } = await withTotp();
  const code = codeAt(secret);
  assert.deepEqual(problem(await login(userId, code, 'wrong')), CREDENTIALS);
  assert.deepEqual(problem(await login(userId, undefined, 'wrong')), CREDENTIALS);
  assert.deepEqual(problem(await login('nobody', code)), CREDENTIALS);
  assert.equal((await login(userId, code)).status, 201);
});

test('wrong codes lock like wrong passwords, and the right password does not reset them', async () => {
  const { userId, secret } = await withTotp();
  for (let i = 0; i < 3; i++) assert.deepEqual(problem(await login(userId, wrongCode(secret))), WRONG);
  assert.deepEqual(problem(await login(userId)), REQUIRED);
  assert.deepEqual(problem(await login(userId, wrongCode(secret))), WRONG);
  assert.deepEqual(problem(await login(userId, codeAt(secret))), [429, 8, 'SESSION-FAILURES']);
});

test('a right code resets the wrong ones before it', async () => {
  const { userId, secret } = await withTotp();
  for (let i = 0; i < 3; i++) assert.deepEqual(problem(await login(userId, wrongCode(secret))), WRONG);
  assert.equal((await login(userId, codeAt(secret))).status, 201);
  for (let i = 0; i < 3; i++) assert.deepEqual(problem(await login(userId, wrongCode(secret))), WRONG);
});

test('of many parallel logins with one code one succeeds', async () => {
  const { userId, secret } = await withTotp();
  const code = codeAt(secret);
  const answers = await Promise.all([1, 2, 3].map(() => login(userId, code)));
  assert.deepEqual(answers.map((a) => a.status).sort(), [201, 400, 400]);
});

test('an invalid code field is named', async () => {
  for (const [totp, field] of [
    [{}, 'checks.totp.code'],
    [{ code: 123456 }, 'checks.totp.code'],
    ['123456', 'checks.totp'],
  ] as const) {
    const checks = { user: { userId: 'x' }, password: { password: 'x' }, totp };
    const answer = await api.call('POST', '/v2beta/sessions', { checks });
    assert.deepEqual([answer.status, badFieldsOf(answer)], [400, [field]]);
  }
});
