import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { removeMember } from '../../src/directory/members.ts';
import { type Answer, badFieldsOf, errorId, type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import { waitFor } from '../support/wait.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
let owner: { userId: string; token: string };
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  other = await api.setupOrg();
  owner = await api.machine(org.orgId, ['ORG_OWNER']);
});
after(() => api.stop());

const ORG = '/management/v1/orgs/me/members';
const INSTANCE = '/admin/v1/members';

test('a member is added, listed and removed', async () => {
  const { userId, token } = await api.machine(org.orgId);
  const as = { token: owner.token };
  const added = await api.call('POST', ORG, { userId, roles: ['ORG_USER_MANAGER', 'ORG_USER_MANAGER'] }, as);
  assert.deepEqual([added.status, added.body.details.resourceOwner], [200, org.orgId]);
  const { body } = await api.call('POST', `${ORG}/_search`, {}, as);
  const member = body.result.find((m: { userId: string }) => m.userId === userId);
  assert.deepEqual(member, { userId, roles: ['ORG_USER_MANAGER'], details: added.body.details });
  assert.equal(body.details.totalResult, String(body.result.length));
  assert.equal((await api.call('GET', '/management/v1/orgs/me', undefined, { token })).status, 200);
  const removed = await api.call('DELETE', `${ORG}/${userId}`, undefined, as);
  assert.deepEqual([removed.status, removed.body.details.resourceOwner], [200, org.orgId]);
  assert.equal((await api.call('GET', '/management/v1/orgs/me', undefined, { token })).status, 403);
  const again = await api.call('DELETE', `${ORG}/${userId}`, undefined, as);
  assert.deepEqual([again.status, errorId(again)], [404, 'MEMBER-NOT-FOUND']);
});

test('the list is paged', async () => {
  const { orgId } = await api.setupOrg();
  for (let i = 0; i < 3; i++) await api.machine(orgId, ['ORG_OWNER_VIEWER']);
  const page = async (query: object) => (await api.call('POST', `${ORG}/_search`, { query }, { orgId })).body;
  const all = (await page({})).result.map((m: { userId: string }) => m.userId);
  assert.equal(all.length, 4);
  const one = await page({ offset: '2', limit: 1 });
  assert.deepEqual([one.details.totalResult, one.result[0].userId, one.result.length], ['4', all[2], 1]);
});

test('invalid fields are named: an unknown role, an instance role on an organization, no role', async () => {
  const { userId } = await api.machine(org.orgId);
  for (const [path, roles, fields] of [
    [ORG, ['ORG_OWNER', 'KING', 'IAM_OWNER'], ['roles[1]', 'roles[2]']],
    [ORG, [], ['roles']],
    [ORG, undefined, ['roles']],
    [INSTANCE, ['ORG_OWNER'], ['roles[0]']],
  ] as const) {
    const answer = await api.call('POST', path, { userId, roles }, { orgId: org.orgId });
    assert.deepEqual([answer.status, badFieldsOf(answer)], [400, fields]);
  }
  assert.deepEqual(badFieldsOf(await api.call('POST', ORG, { roles: ['ORG_OWNER'] }, { orgId: org.orgId })), [
    'userId',
  ]);
});

test('a second membership is 409', async () => {
  const answer = await api.call('POST', ORG, { userId: owner.userId, roles: ['ORG_OWNER'] }, { orgId: org.orgId });
  assert.deepEqual([answer.status, errorId(answer)], [409, 'MEMBER-EXISTS']);
});

test('a user out of the caller’s reach is 403, whether they exist or not; to an IAM_OWNER a missing one is 404', async () => {
  const add = (userId: string, options: object) => api.call('POST', ORG, { userId, roles: ['ORG_OWNER'] }, options);
  const elsewhere = await add(other.userId, { token: owner.token });
  const missing = await add('missing', { token: owner.token });
  assert.deepEqual([elsewhere.status, elsewhere.body], [403, missing.body]);
  assert.equal((await add('missing', { orgId: org.orgId })).status, 404);
  assert.equal((await add(other.userId, { orgId: org.orgId })).status, 200);
});

test('only an ORG_OWNER of the organization manages its members', async () => {
  const manager = await api.machine(org.orgId, ['ORG_USER_MANAGER', 'ORG_OWNER_VIEWER']);
  for (const options of [
    { token: manager.token },
    { token: owner.token, orgId: other.orgId },
    { token: owner.token, orgId: 'missing' },
  ]) {
    assert.equal((await api.call('POST', ORG, '{', options)).status, 403);
    assert.equal((await api.call('POST', `${ORG}/_search`, '{', options)).status, 403);
    assert.equal((await api.call('DELETE', `${ORG}/${owner.userId}`, undefined, options)).status, 403);
  }
  assert.equal((await api.call('POST', ORG, {}, { orgId: 'missing' })).status, 404);
});

test('only an IAM_OWNER manages members of the instance', async () => {
  for (const path of [INSTANCE, `${INSTANCE}/_search`]) {
    assert.equal((await api.call('POST', path, '{', { token: owner.token })).status, 403);
  }
  const { userId, token } = await api.machine(org.orgId);
  const added = await api.call('POST', INSTANCE, { userId, roles: ['IAM_OWNER'] });
  assert.deepEqual([added.status, added.body.details.resourceOwner], [200, 'instance']);
  assert.equal((await api.call('POST', `${INSTANCE}/_search`, {}, { token })).body.details.totalResult, '2');
  assert.equal((await api.call('DELETE', `${INSTANCE}/${userId}`)).status, 200);
  assert.equal((await api.call('POST', `${INSTANCE}/_search`, {}, { token })).status, 403);
});

test('the last IAM_OWNER stays', async () => {
  const { body } = await api.call('POST', `${INSTANCE}/_search`, {});
  for (const path of [INSTANCE, '/v2beta/users']) {
    const answer = await api.call('DELETE', `${path}/${body.result[0].userId}`);
    assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [400, 9, 'MEMBER-LAST-OWNER']);
  }
});

test('owners without a valid credential do not count, and any valid credential does', async () => {
  const { body } = await api.call('POST', `${INSTANCE}/_search`, {});
  const admin = body.result[0].userId;
  const { token } = api;
  const human = { profile: { givenName: 'Ann', familyName: 'Arbor' }, organization: { orgId: org.orgId } };
  const robot = { userName: unique('robot'), name: 'Robot' };
  const ids = [
    (await api.call('POST', '/v2beta/users/human', { ...human, email: { email: `${unique('a')}@example.com` } })).body
      .userId,
    (await api.call('POST', '/management/v1/users/machine', robot, { orgId: org.orgId })).body.userId,
  ];
  for (const userId of ids) await api.call('POST', INSTANCE, { userId, roles: ['IAM_OWNER'] });
  const removal = () => api.call('DELETE', `${INSTANCE}/${admin}`);
  assert.equal(errorId(await removal()), 'MEMBER-LAST-OWNER');
  const { pool } = api.deps;
  for (const [give, take] of [
    [`update users set password_hash = 'x' where id = $1`, 'update users set password_hash = null where id = $1'],
    [`update users set secret_hash = 'x' where id = $1`, 'update users set secret_hash = null where id = $1'],
    [
      `insert into personal_access_tokens (id, user_id, token_hash, sequence) values ('t', $1, 'x', 1)`,
      `update personal_access_tokens set expires_at = now() where user_id = $1`,
    ],
    [
      `insert into machine_keys (id, user_id, public_jwk, sequence) values ('k', $1, '{}', 1)`,
      `update machine_keys set expires_at = now() where user_id = $1`,
    ],
  ] as const) {
    await pool.query(give, [ids[0]]);
    assert.equal((await removal()).status, 200, give);
    await pool.query(`insert into instance_members (user_id, roles, sequence) values ($1, '{IAM_OWNER}', 1)`, [admin]);
    await pool.query(take, [ids[0]]);
    assert.equal(errorId(await api.call('DELETE', `${INSTANCE}/${admin}`, undefined, { token })), 'MEMBER-LAST-OWNER');
  }
  for (const userId of ids) await api.call('DELETE', `${INSTANCE}/${userId}`);
});

test('the last owner keeps a credential', async () => {
  const orgId = (await api.call('POST', '/management/v1/orgs', { name: unique('Alone') })).body.id;
  const { userId, token } = await api.machine(orgId, ['ORG_OWNER']);
  const user = `/management/v1/users/${userId}`;
  const self = { token };
  const pats = async () => (await api.call('GET', `${user}/pats`, undefined, { orgId })).body.result;
  const [{ tokenId }] = await pats();
  const removePat = (options: object) =>
    api.call('DELETE', `${user}/pats/${tokenId}`, undefined, { orgId, ...options });
  const lastOfOrg = [400, 9, 'MEMBER-LAST-ORG-OWNER'];
  const problem = ({ status, body }: Answer) => [status, body.code, body.details[0].id];
  assert.deepEqual(problem(await removePat(self)), lastOfOrg);
  assert.equal((await pats()).length, 1, 'nothing was removed');
  assert.equal((await api.call('PUT', `${user}/secret`, {}, self)).status, 200);
  const { keyId } = (await api.call('POST', `${user}/keys`, {}, self)).body;
  assert.equal((await api.call('DELETE', `${user}/secret`, undefined, self)).status, 200, 'a key remains');
  await api.deps.pool.query(`update personal_access_tokens set expires_at = now() + interval '1 hour' where id = $1`, [
    tokenId,
  ]);
  assert.equal((await api.call('DELETE', `${user}/keys/${keyId}`, undefined, self)).status, 200, 'the token remains');
  const other = await api.machine(orgId, ['ORG_OWNER']);
  assert.equal((await removePat({ token: other.token })).status, 200, 'another owner remains');
  const [last] = (await api.call('GET', `/management/v1/users/${other.userId}/pats`, undefined, { orgId })).body.result;
  const path = `/management/v1/users/${other.userId}/pats/${last.tokenId}`;
  assert.deepEqual(problem(await api.call('DELETE', path, undefined, { token: other.token })), lastOfOrg);
  assert.equal((await api.call('DELETE', path, undefined, { orgId })).status, 200, 'an IAM_OWNER can give a new one');
});

test('the last IAM_OWNER keeps a credential', async () => {
  const { body } = await api.call('POST', `${INSTANCE}/_search`, {});
  const user = `/management/v1/users/${body.result[0].userId}`;
  const [{ tokenId }] = (await api.call('GET', `${user}/pats`)).body.result;
  assert.equal(errorId(await api.call('DELETE', `${user}/pats/${tokenId}`)), 'MEMBER-LAST-OWNER');
  assert.equal((await api.call('PUT', `${user}/secret`, {})).status, 200);
  await api.call('DELETE', `${user}/secret`);
  assert.equal((await api.call('GET', `${user}/pats`)).status, 200);
});

test('when the last two IAM_OWNERs are removed at once, the second removal waits and then fails', async (t) => {
  const { pool } = api.deps;
  const { userId } = await api.machine(org.orgId);
  await api.call('POST', INSTANCE, { userId, roles: ['IAM_OWNER'] });
  const first = await pool.connect();
  t.after(() => first.release());
  await first.query('begin');
  await removeMember(first, { kind: 'instance' }, userId, 'test');
  const { body } = await api.call('POST', `${INSTANCE}/_search`, {});
  const admin = body.result.find((m: { userId: string }) => m.userId !== userId).userId;
  const second = api.call('DELETE', `${INSTANCE}/${admin}`);
  const waiting = `select 1 from pg_locks where not granted and relation = 'instance_members'::regclass`;
  await waitFor(async () => (await pool.query(waiting)).rowCount, { what: 'the second one to wait' });
  await first.query('commit');
  assert.equal(errorId(await second), 'MEMBER-LAST-OWNER');
});
