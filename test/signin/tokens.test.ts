import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../support/api.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  other = await api.setupOrg();
});
after(() => api.stop());

const pats = (userId: string) => `/management/v1/users/${encodeURIComponent(userId)}/pats`;

test('a token is created with an expiry, listed without its value, and deleted', async () => {
  const { userId } = await api.machine(org.orgId);
  const expirationDate = new Date(Date.now() + 3_600_000).toISOString();
  const { status, body } = await api.call('POST', pats(userId), { expiration_date: expirationDate });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body).sort(), ['details', 'token', 'tokenId']);
  assert.equal(body.details.resourceOwner, org.orgId);
  const list = await api.call('GET', pats(userId));
  assert.equal(list.body.details.totalResult, '2');
  assert.deepEqual(list.body.result[1], { tokenId: body.tokenId, details: body.details, expirationDate });
  assert(!JSON.stringify(list.body).includes(body.token));
  const user = (await api.call('GET', `/v2beta/users/${userId}`)).body;
  assert.equal(user.details.sequence, body.details.sequence);
  const path = `${pats(userId)}/${body.tokenId}`;
  assert.equal((await api.call('DELETE', path)).body.details.resourceOwner, org.orgId);
  const again = await api.call('DELETE', path);
  assert.deepEqual([again.status, errorId(again)], [404, 'PAT-NOT-FOUND']);
});

test('a token of another user is not deleted by the wrong path', async () => {
  const [one, two] = [await api.machine(org.orgId), await api.machine(org.orgId)];
  const { tokenId } = (await api.call('GET', pats(two.userId))).body.result[0];
  assert.equal((await api.call('DELETE', `${pats(one.userId)}/${tokenId}`)).status, 404);
  assert.equal((await api.call('GET', pats(two.userId))).body.result.length, 1);
});

test('an expiry in the past or in a wrong format is named', async () => {
  const { userId } = await api.machine(org.orgId);
  for (const expirationDate of ['2020-01-01T00:00:00Z', 'tomorrow', 7, '9999-12-31T23:59:59-12:00']) {
    const answer = await api.call('POST', pats(userId), { expirationDate });
    assert.deepEqual([answer.status, badFieldsOf(answer)], [400, ['expirationDate']]);
  }
  assert.equal((await api.call('POST', pats(userId), { expirationDate: '9999-12-31T23:59:59Z' })).status, 200);
});

test('a human has no tokens', async () => {
  for (const method of ['GET', 'POST']) {
    const answer = await api.call(method, pats(org.userId));
    assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [400, 9, 'PAT-NOT-A-MACHINE']);
  }
});

test('only an ORG_OWNER of the user’s organization creates tokens; missing users look like those of others', async () => {
  const { userId } = await api.machine(org.orgId);
  const callers = [
    await api.machine(org.orgId, ['ORG_USER_MANAGER', 'ORG_OWNER_VIEWER']),
    await api.machine(other.orgId, ['ORG_OWNER']),
    await api.machine(org.orgId),
  ];
  for (const { token } of callers) {
    for (const id of [userId, 'missing']) {
      const answer = await api.call('POST', pats(id), '{', { token });
      assert.deepEqual([answer.status, errorId(answer)], [403, 'AUTH-PERMISSION']);
    }
    assert.equal((await api.call('GET', pats(userId), undefined, { token })).status, 403);
    assert.equal((await api.call('DELETE', `${pats(userId)}/x`, undefined, { token })).status, 403);
  }
  assert.equal((await api.call('POST', pats('missing'), {})).status, 404);
});

test('nobody creates a token for a user with more rights', async () => {
  const owner = await api.machine(org.orgId, ['ORG_OWNER']);
  const may = async (userId: string) => (await api.call('POST', pats(userId), {}, { token: owner.token })).status;
  const peer = await api.machine(org.orgId, ['ORG_OWNER']);
  assert.equal(await may(peer.userId), 200);
  const boss = await api.machine(org.orgId);
  await api.call('POST', '/admin/v1/members', { userId: boss.userId, roles: ['IAM_OWNER'] });
  assert.equal(await may(boss.userId), 403);
  const abroad = await api.machine(org.orgId);
  const foreign = { userId: abroad.userId, roles: ['ORG_OWNER_VIEWER'] };
  await api.call('POST', '/management/v1/orgs/me/members', foreign, { orgId: other.orgId });
  assert.equal(await may(abroad.userId), 403);
  assert.equal((await api.call('POST', pats(boss.userId), {})).status, 200);
});
