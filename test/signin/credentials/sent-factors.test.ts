/** Codes by mail and by text message become a second factor by the API, and are none any more. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { addHuman, addVerified, eventsOf, tokenOf } from '../../directory/users/people.ts';
import { errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
let without: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ env: { SMS_URL: 'http://127.0.0.1:9/' } });
  without = await startApi();
});
beforeEach(async () => {
  org = await api.setupOrg();
});
after(async () => {
  await api.stop();
  await without.stop();
});

const at = (userId: string, kind: string) => `/v2beta/users/${encodeURIComponent(userId)}/otp_${kind}`;
async function reachable(of: TestApi = api, orgId: string = org.orgId): Promise<string> {
  const userId = await addVerified(of, orgId, 'correct horse');
  const text = `update users set phone = '+41791234567', phone_verified = true where id = $1`;
  await of.deps.pool.query(text, [userId]);
  return userId;
}

for (const [kind, event] of [
  ['sms', 'otp.sms'],
  ['email', 'otp.email'],
] as const) {
  describe(`the second factor otp_${kind}`, () => {
    it('is added and removed once, each with its event and a mail, and is asked for in between', async () => {
      const userId = await reachable();
      const signIn = async () => {
        const checks = { user: { userId }, password: { password: 'correct horse' } };
        const answer = await api.call('POST', '/v2beta/sessions', { checks });
        return answer.status === 201 ? 'signed in' : errorId(answer);
      };
      assert.equal(errorId(await api.call('DELETE', at(userId, kind))), 'OTP-NOT-FOUND');
      assert.equal((await api.call('POST', at(userId, kind), {})).status, 200);
      assert.equal(errorId(await api.call('POST', at(userId, kind), {})), 'OTP-EXISTS');
      assert.equal(await signIn(), 'SESSION-TOTP-REQUIRED');
      assert.equal((await api.call('DELETE', at(userId, kind))).status, 200);
      assert.equal(errorId(await api.call('DELETE', at(userId, kind))), 'OTP-NOT-FOUND');
      assert.equal(await signIn(), 'signed in');
      const own = (await eventsOf(api, userId)).filter((type) => type.includes('.otp.'));
      assert.deepEqual(own, [`user.human.${event}.added`, `user.human.${event}.removed`]);
      const text = `select kind from mail_outbox where user_id = $1 and kind::text like 'factor_%ed' order by id`;
      const { rows } = await api.deps.pool.query(text, [userId]);
      assert.deepEqual(
        rows.map((row) => row.kind),
        ['factor_added', 'factor_removed'],
      );
    });

    it('needs a person whom the codes reach, and a good body', async () => {
      const stranger = await addHuman(api, org.orgId, 'correct horse');
      const { userId: machine } = await api.machine(org.orgId);
      for (const id of [stranger, machine]) {
        assert.equal(errorId(await api.call('POST', at(id, kind), {})), 'OTP-UNAVAILABLE');
      }
      const userId = await reachable();
      for (const method of ['POST', 'DELETE']) {
        assert.equal(errorId(await api.call(method, at(userId, kind), { endSessions: 7 })), 'OTP-INVALID');
      }
    });
  });
}

it('codes by text message need a gateway', async () => {
  const { orgId } = await without.setupOrg();
  const userId = await reachable(without, orgId);
  assert.equal(errorId(await without.call('POST', at(userId, 'sms'), {})), 'OTP-UNAVAILABLE');
  assert.equal((await without.call('POST', at(userId, 'email'), {})).status, 200);
});

it('a second factor that does not go together with the only way in is not one’s own choice', async () => {
  const text = { smsCode: 'withoutPassword', mailCode: 'withoutPassword' };
  assert.equal((await api.call('PUT', '/management/v1/policies/login', text, { orgId: org.orgId })).status, 200);
  const userId = await addVerified(api, org.orgId);
  await api.deps.pool.query(`update users set state = 'active' where id = $1`, [userId]);
  const by = { token: await tokenOf(api, userId) };
  const app = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
  assert.equal(errorId(await api.call('POST', at(userId, 'email'), {}, by)), 'LAST-WAY-IN');
  const added = await api.call('POST', app, {}, by);
  await api.deps.pool.query('update user_totp set confirmed_at = now() where user_id = $1', [userId]);
  assert.equal((await api.call('POST', at(userId, 'email'), {}, by)).status, 200, JSON.stringify(added.body));
  assert.equal(errorId(await api.call('DELETE', app, {}, by)), 'LAST-WAY-IN');
  assert.equal(errorId(await api.call('DELETE', `${app}/${added.body.totpId}`, {}, by)), 'LAST-WAY-IN');
  assert.equal((await api.call('DELETE', at(userId, 'email'), {}, by)).status, 200);
  assert.equal((await api.call('DELETE', app, {}, by)).status, 200);
  assert.equal((await api.call('POST', at(userId, 'email'), {})).status, 200, 'a manager may');
});
