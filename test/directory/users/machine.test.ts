import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  other = await api.setupOrg();
});
after(() => api.stop());

const MACHINES = '/management/v1/users/machine';
const name = () => ({ userName: unique('robot'), name: 'Robot' });

test('a machine user is created in the caller’s organization, or in the one that the header names', async () => {
  const owner = await api.machine(org.orgId, ['ORG_OWNER']);
  const made = await api.call('POST', MACHINES, name(), { token: owner.token });
  assert.deepEqual([made.status, made.body.details.resourceOwner], [200, org.orgId]);
  const elsewhere = await api.call('POST', MACHINES, name(), { orgId: other.orgId });
  assert.equal(elsewhere.body.details.resourceOwner, other.orgId);
  const alias = await api.call('POST', MACHINES, name(), { headers: { 'x-zitadel-orgid': other.orgId } });
  assert.equal(alias.body.details.resourceOwner, other.orgId);
});

test('all fields are stored, also in snake_case', async () => {
  const body = { ...name(), user_id: unique('id'), description: 'Imports', access_token_type: 'ACCESS_TOKEN_TYPE_JWT' };
  const { userId } = (await api.call('POST', MACHINES, body, { orgId: org.orgId })).body;
  assert.equal(userId, body.user_id);
  const { user } = (await api.call('GET', `/v2beta/users/${userId}`)).body;
  assert.deepEqual(user.machine, {
    name: 'Robot',
    description: 'Imports',
    hasSecret: false,
    accessTokenType: 'ACCESS_TOKEN_TYPE_JWT',
  });
});

test('a taken id is 409 in the whole instance, a taken name in the organization', async () => {
  const body = { ...name(), userId: unique('id') };
  const make = (change: object, orgId: string) => api.call('POST', MACHINES, { ...body, ...change }, { orgId });
  assert.equal((await make({}, org.orgId)).status, 200);
  const sameId = await make({ userName: unique('x') }, other.orgId);
  assert.deepEqual([sameId.status, sameId.body.code, errorId(sameId)], [409, 6, 'USER-ID-TAKEN']);
  const sameName = await make({ userId: unique('id'), userName: body.userName.toUpperCase() }, org.orgId);
  assert.deepEqual([sameName.status, errorId(sameName)], [409, 'USER-NAME-TAKEN']);
  assert.equal((await make({ userId: unique('id') }, other.orgId)).status, 200);
});

test('every invalid field is named', async () => {
  const bad = { userId: '..', userName: '', description: 'x'.repeat(501), accessTokenType: 'JWT' };
  const answer = await api.call('POST', MACHINES, bad, { orgId: org.orgId });
  assert.equal(answer.status, 400);
  assert.deepEqual(badFieldsOf(answer), ['accessTokenType', 'description', 'name', 'userId', 'userName']);
});

test('only an ORG_OWNER may create machine users; a missing organization is 404 to an IAM_OWNER', async () => {
  const owner = await api.machine(org.orgId, ['ORG_OWNER']);
  const manager = await api.machine(org.orgId, ['ORG_USER_MANAGER', 'ORG_OWNER_VIEWER']);
  for (const options of [
    { token: manager.token },
    { token: owner.token, orgId: other.orgId },
    { token: owner.token, orgId: 'missing' },
  ]) {
    const answer = await api.call('POST', MACHINES, '{', options);
    assert.deepEqual([answer.status, errorId(answer)], [403, 'AUTH-PERMISSION']);
  }
  const missing = await api.call('POST', MACHINES, name(), { orgId: 'missing' });
  assert.deepEqual([missing.status, errorId(missing)], [404, 'ORG-NOT-FOUND']);
});

test('a user is deleted with their tokens, sessions and unsent mails; events remain, names are free', async () => {
  const { orgId, userId, userName, password } = await api.setupOrg({ human: { email: { email: 'a@b.example' } } });
  const checks = { user: { userId }, password: { password } };
  const { sessionId } = (await api.call('POST', '/v2beta/sessions', { checks })).body;
  const removed = await api.call('DELETE', `/v2beta/users/${userId}`);
  assert.deepEqual([removed.status, removed.body.details.resourceOwner], [200, orgId]);
  assert.equal((await api.call('GET', `/v2beta/users/${userId}`)).status, 404);
  assert.equal((await api.call('GET', `/v2beta/sessions/${sessionId}`)).status, 404);
  assert.equal((await api.call('DELETE', `/v2beta/users/${userId}`)).status, 404);
  const rows = async (sql: string) => (await api.deps.pool.query(sql, [userId])).rows;
  assert.deepEqual(await rows('select * from mail_outbox where user_id = $1'), []);
  const events = await rows('select type, sequence from events where aggregate_id = $1 order by sequence');
  assert.deepEqual(
    events.map((e) => e.type),
    ['user.human.added', 'user.session.added', 'user.removed'],
  );
  assert.equal(events[2].sequence, removed.body.details.sequence);
  const again = await api.call('POST', MACHINES, { userId, userName, name: 'Heir' }, { orgId });
  assert.equal(again.status, 200);
});

test('ORG_OWNER and ORG_USER_MANAGER may delete users, others may not; only an IAM_OWNER may delete an IAM_OWNER', async () => {
  const remove = async (userId: string, token: string) =>
    (await api.call('DELETE', `/v2beta/users/${userId}`, undefined, { token })).status;
  for (const role of ['ORG_OWNER', 'ORG_USER_MANAGER']) {
    const { token } = await api.machine(org.orgId, [role]);
    assert.equal(await remove((await api.machine(org.orgId)).userId, token), 200);
    const boss = await api.machine(org.orgId);
    await api.call('POST', '/admin/v1/members', { userId: boss.userId, roles: ['IAM_OWNER'] });
    assert.equal(await remove(boss.userId, token), 403);
    assert.equal(await remove('missing', token), 403);
  }
  const itself = await api.machine(org.orgId);
  const viewer = await api.machine(org.orgId, ['ORG_OWNER_VIEWER']);
  const outsider = await api.machine(other.orgId, ['ORG_OWNER']);
  for (const { token } of [itself, viewer, outsider]) assert.equal(await remove(itself.userId, token), 403);
});
