import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { tokenHash } from '../../src/platform/ids.ts';
import { findMachineClient } from '../../src/signin/machines/machine.ts';
import { errorId, type SetUp, startApi, type TestApi, unique } from '../support/api.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  other = await api.setupOrg();
});
after(() => api.stop());

const secret = (userId: string) => `/management/v1/users/${encodeURIComponent(userId)}/secret`;
const userOf = async (userId: string) => (await api.call('GET', `/v2beta/users/${userId}`)).body;

test('a secret is shown once and stored as its hash; the user object says that there is one', async () => {
  const { userId } = await api.machine(org.orgId);
  assert.equal((await userOf(userId)).user.machine.hasSecret, false);
  assert.equal(await findMachineClient(api.deps.pool, userId), undefined);
  const { status, body } = await api.call('PUT', secret(userId), {});
  assert.deepEqual([status, Object.keys(body).sort()], [200, ['clientId', 'clientSecret', 'details']]);
  assert.equal(body.clientId, userId);
  assert.match(body.clientSecret, /^[\w-]{43}$/);
  const user = await userOf(userId);
  assert.equal(user.user.machine.hasSecret, true);
  assert.equal(user.details.sequence, body.details.sequence);
  assert(!JSON.stringify(user).includes(body.clientSecret));
  assert.deepEqual(await findMachineClient(api.deps.pool, userId), {
    userId,
    orgId: org.orgId,
    secretHash: tokenHash(body.clientSecret),
    accessTokenType: 0,
  });
});

test('a new secret replaces the old one; a removed one is invalid', async () => {
  const { userId } = await api.machine(org.orgId);
  const first = (await api.call('PUT', secret(userId))).body.clientSecret;
  const second = (await api.call('PUT', secret(userId))).body.clientSecret;
  assert.notEqual(first, second);
  assert.deepEqual((await findMachineClient(api.deps.pool, userId))?.secretHash, tokenHash(second));
  const removed = await api.call('DELETE', secret(userId));
  assert.deepEqual([removed.status, removed.body.details.resourceOwner], [200, org.orgId]);
  const user = await userOf(userId);
  assert.deepEqual([user.user.machine.hasSecret, user.details.sequence], [false, removed.body.details.sequence]);
  assert.equal(await findMachineClient(api.deps.pool, userId), undefined);
  const again = await api.call('DELETE', secret(userId));
  assert.deepEqual([again.status, errorId(again)], [404, 'SECRET-NOT-FOUND']);
  const { rows } = await api.deps.pool.query(
    `select type, payload from events where aggregate_id = $1 and type like 'user.machine.secret.%' order by sequence`,
    [userId],
  );
  assert.deepEqual(
    rows.map((row) => [row.type, row.payload]),
    [
      ['user.machine.secret.set', null],
      ['user.machine.secret.set', null],
      ['user.machine.secret.removed', null],
    ],
  );
});

test('the type of access token is that of the machine user', async () => {
  const name = unique('jwt');
  const machine = { userName: name, name, accessTokenType: 'ACCESS_TOKEN_TYPE_JWT' };
  const { userId } = (await api.call('POST', '/management/v1/users/machine', machine, { orgId: org.orgId })).body;
  await api.call('PUT', secret(userId));
  assert.equal((await findMachineClient(api.deps.pool, userId))?.accessTokenType, 1);
});

test('a user who is not active is not a client', async () => {
  const { userId } = await api.machine(org.orgId);
  await api.call('PUT', secret(userId));
  await api.deps.pool.query(`update users set state = 'inactive' where id = $1`, [userId]);
  assert.equal(await findMachineClient(api.deps.pool, userId), undefined);
});

test('a human has no secret', async () => {
  for (const method of ['PUT', 'DELETE']) {
    const answer = await api.call(method, secret(org.userId));
    assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [400, 9, 'SECRET-NOT-A-MACHINE']);
  }
  assert.equal('machine' in (await userOf(org.userId)).user, false);
});

test('only an ORG_OWNER sets secrets, but not of users with more rights', async () => {
  const { userId } = await api.machine(org.orgId);
  for (const { token } of [
    await api.machine(org.orgId, ['ORG_USER_MANAGER', 'ORG_OWNER_VIEWER']),
    await api.machine(other.orgId, ['ORG_OWNER']),
    await api.machine(org.orgId),
  ]) {
    for (const method of ['PUT', 'DELETE']) {
      for (const id of [userId, 'missing']) {
        const answer = await api.call(method, secret(id), undefined, { token });
        assert.deepEqual([answer.status, errorId(answer)], [403, 'AUTH-PERMISSION']);
      }
    }
  }
  assert.equal((await api.call('PUT', secret('missing'))).status, 404);
  const { token } = await api.machine(org.orgId, ['ORG_OWNER']);
  assert.equal((await api.call('PUT', secret(userId), undefined, { token })).status, 200);
  const boss = await api.machine(org.orgId);
  await api.call('POST', '/admin/v1/members', { userId: boss.userId, roles: ['IAM_OWNER'] });
  assert.equal((await api.call('PUT', secret(boss.userId), undefined, { token })).status, 403);
});
