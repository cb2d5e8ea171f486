/** The factors of a user over the API: their list, one app among several, recovery codes, and the reset. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addHuman, eventsOf, tokenOf } from '../../directory/users/people.ts';
import { type Answer, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { codeAt } from '../../support/totp.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
});
after(() => api.stop());

const problem = ({ status, body }: Answer) => [status, body.details[0].id];
const path = (userId: string, rest: string) => `/v2beta/users/${encodeURIComponent(userId)}/${rest}`;
const list = async (userId: string) =>
  (await api.call('POST', path(userId, 'authentication_factors/_search'), undefined)).body;

async function person(): Promise<string> {
  const userId = await addHuman(api, org.orgId, 'a password');
  await api.deps.pool.query('update users set email_verified = true where id = $1', [userId]);
  return userId;
}

async function addApp(userId: string, name: string): Promise<string> {
  const { totpId, secret } = (await api.call('POST', path(userId, 'totp'), { name })).body;
  assert.equal((await api.call('POST', path(userId, 'totp/verify'), { code: codeAt(secret) })).status, 200);
  return totpId;
}

const noticesOf = async (userId: string) =>
  (await api.deps.pool.query('select kind from mail_outbox where user_id = $1 order by id', [userId])).rows
    .map(({ kind }) => kind)
    .filter((kind) => /factor|recovery/.test(kind));

test('several apps have names, and one of them can be removed', async () => {
  const userId = await person();
  const phone = await addApp(userId, 'Phone');
  await addApp(userId, 'Tablet');
  await api.call('POST', path(userId, 'totp'), { name: 'Pending' });
  const { result } = await list(userId);
  assert.deepEqual(
    result.map(({ state, otp }: { state: string; otp: { name: string } }) => [otp.name, state]),
    [
      ['Phone', 'AUTH_FACTOR_STATE_READY'],
      ['Tablet', 'AUTH_FACTOR_STATE_READY'],
      ['Pending', 'AUTH_FACTOR_STATE_NOT_READY'],
    ],
  );
  assert.equal((await api.call('DELETE', path(userId, `totp/${phone}`))).status, 200);
  assert.deepEqual(problem(await api.call('DELETE', path(userId, `totp/${phone}`))), [404, 'TOTP-NOT-FOUND']);
  assert.equal((await list(userId)).result.length, 2);
  assert.deepEqual(await noticesOf(userId), ['factor_added', 'factor_added', 'factor_removed']);
});

test('recovery codes are shown once, counted, replaced and removed', async () => {
  const userId = await person();
  const codes = path(userId, 'recovery_codes');
  assert.deepEqual(problem(await api.call('POST', codes)), [400, 'RECOVERY-CODES-NO-FACTOR']);
  await addApp(userId, 'Phone');
  const made = await api.call('POST', codes);
  assert.deepEqual([made.status, made.body.recoveryCodes.length], [200, 10]);
  const listed = await list(userId);
  assert.equal(listed.recoveryCodesLeft, 10);
  assert.equal(JSON.stringify(listed).includes(made.body.recoveryCodes[0]), false);
  const again = (await api.call('POST', codes)).body.recoveryCodes;
  assert.notDeepEqual(again, made.body.recoveryCodes);
  assert.deepEqual(problem(await api.call('POST', codes, { currentPassword: 5 })), [400, 'RECOVERY-CODES-INVALID']);
  assert.equal((await api.call('DELETE', codes)).status, 200);
  assert.deepEqual(problem(await api.call('DELETE', codes)), [404, 'RECOVERY-CODES-NOT-FOUND']);
  const machine = await api.machine(org.orgId);
  assert.deepEqual(problem(await api.call('POST', path(machine.userId, 'recovery_codes'))), [400, 'TOTP-NOT-HUMAN']);
  const kinds = await noticesOf(userId);
  assert.deepEqual(kinds, ['factor_added', 'recovery_codes_made', 'recovery_codes_made']);
});

test('people prove that the account is theirs before they get recovery codes', async () => {
  const userId = await person();
  await addApp(userId, 'Phone');
  const token = await tokenOf(api, userId);
  const wrong = await api.call('POST', path(userId, 'recovery_codes'), { currentPassword: 'wrong' }, { token });
  assert.deepEqual(problem(wrong), [400, 'PASSWORD-CURRENT']);
  const right = await api.call('POST', path(userId, 'recovery_codes'), { currentPassword: 'a password' }, { token });
  assert.equal(right.status, 200);
});

test('a reset removes every factor at once, says what, and tells the user', async () => {
  const userId = await person();
  await addApp(userId, 'Phone');
  await addApp(userId, 'Tablet');
  await api.call('POST', path(userId, 'recovery_codes'));
  await api.deps.pool.query('update user_factors set otp_sms = true, lost_at = now() where user_id = $1', [userId]);
  await api.deps.pool.query(
    `insert into user_passkeys (credential_id, user_id, public_key, rp_id, passwordless)
     values (decode(md5($1), 'hex'), $1, '', 'localhost', true), (decode(md5($1 || 'k'), 'hex'), $1, '', 'localhost', false)`,
    [userId],
  );
  const before = await list(userId);
  assert.deepEqual([before.securityKeys, before.passkeys, typeof before.lostSince], [1, 1, 'string']);
  assert.equal((await api.call('DELETE', path(userId, 'authentication_factors'))).status, 200);
  assert.deepEqual(await list(userId), { result: [], securityKeys: 0, passkeys: 0, recoveryCodesLeft: 0 });
  const { rows } = await api.deps.pool.query(
    `select payload from events where aggregate_id = $1 and type = 'user.human.factors.reset'`,
    [userId],
  );
  assert.deepEqual(rows[0]?.payload, { totps: 2, otp: 1, securityKeys: 1, passkeys: 1, recoveryCodes: 10, lost: 1 });
  assert.equal((await noticesOf(userId)).at(-1), 'factors_reset');
  assert.ok((await eventsOf(api, userId)).includes('user.human.factors.reset'));
  const again = await api.call('DELETE', path(userId, 'authentication_factors'));
  assert.deepEqual(problem(again), [404, 'FACTORS-NOT-FOUND']);
});
