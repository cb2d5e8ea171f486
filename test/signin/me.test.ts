/** `GET /management/v1/me`: the user of the token, and their roles. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { errorId, startApi, type TestApi } from '../support/api.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

const me = (token: string | null = api.token) => api.call('GET', '/management/v1/me', undefined, { token });

test('an owner of the instance', async () => {
  const { status, body } = await me();
  assert.equal(status, 200);
  assert.deepEqual([body.instanceRoles, body.organizations, body.user.username], [['IAM_OWNER'], [], 'muster-admin']);
  assert.equal(body.details.resourceOwner, 'muster');
});

test('roles on several organizations, each with its name and domain; nothing of others', async () => {
  const [one, two] = [await api.setupOrg(), await api.setupOrg()];
  await api.setupOrg();
  const { userId, token } = await api.machine(one.orgId, ['ORG_OWNER', 'ORG_OWNER_VIEWER']);
  const member = { userId, roles: ['ORG_USER_MANAGER'] };
  await api.call('POST', '/management/v1/orgs/me/members', member, { orgId: two.orgId });
  const { body } = await me(token);
  const { rows } = await api.deps.pool.query(
    'select id, name, primary_domain as "primaryDomain" from organizations where id = any($1) order by id',
    [[one.orgId, two.orgId]],
  );
  const roles = { [one.orgId]: ['ORG_OWNER', 'ORG_OWNER_VIEWER'], [two.orgId]: ['ORG_USER_MANAGER'] };
  assert.deepEqual(
    body.organizations,
    rows.map((org) => ({ ...org, roles: roles[org.id] })),
  );
  assert.deepEqual(body.user, (await api.call('GET', `/v2beta/users/${userId}`)).body.user);
});

test('a user without any role; nobody', async () => {
  const { orgId } = await api.setupOrg();
  const { userId, token } = await api.machine(orgId);
  const { status, body } = await me(token);
  assert.deepEqual([status, body.user.userId, body.instanceRoles, body.organizations], [200, userId, [], []]);
  await api.call('POST', `/v2beta/users/${userId}/lock`, {});
  for (const answer of [await me(token), await me(null)]) {
    assert.deepEqual([answer.status, errorId(answer)], [401, 'AUTH-TOKEN']);
  }
});
