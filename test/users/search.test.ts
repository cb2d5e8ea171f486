import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi, unique } from '../support/api.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg({ human: { email: { email: 'Ann@Example.com', isEmailVerified: true } } });
  other = await api.setupOrg();
});
after(() => api.stop());

interface Entry {
  userId: string;
}
const search = (body: object, options = {}) => api.call('POST', '/v2beta/users', body, options);
async function idsOf(queries: object[], options = {}, query: object = {}): Promise<string[]> {
  const { status, body } = await search({ query, queries }, options);
  assert.equal(status, 200, JSON.stringify(body));
  return body.result.map((u: Entry) => u.userId);
}
const inOrg = { organizationIdQuery: { organizationId: '' } };
const within = (orgId: string) => ({ organizationIdQuery: { organizationId: orgId } });

test('an entry is the user object with its details', async () => {
  const { body } = await search({ queries: [{ inUserIdsQuery: { userIds: [org.userId] } }] });
  const { details, user } = (await api.call('GET', `/v2beta/users/${org.userId}`)).body;
  assert.deepEqual(body, { details: { totalResult: '1' }, result: [{ details, ...user }] });
});

test('by organization, user name, email, ids and state, names in any case', async () => {
  const robot = await api.machine(org.orgId);
  assert.deepEqual(await idsOf([{ userNameQuery: { userName: org.userName.toUpperCase() } }]), [org.userId]);
  assert.deepEqual(await idsOf([{ emailQuery: { emailAddress: 'ANN@example.COM' } }, within(org.orgId)]), [org.userId]);
  assert.deepEqual((await idsOf([within(org.orgId)])).sort(), [org.userId, robot.userId].sort());
  assert.deepEqual(await idsOf([{ inUserIdsQuery: { userIds: [robot.userId, 'missing'] } }]), [robot.userId]);
  assert.deepEqual(await idsOf([{ inUserIdsQuery: { userIds: [] } }]), []);
  await api.deps.pool.query(`update users set state = 'locked' where id = $1`, [robot.userId]);
  assert.deepEqual(await idsOf([{ stateQuery: { state: 'USER_STATE_LOCKED' } }]), [robot.userId]);
  assert.deepEqual(await idsOf([{ stateQuery: { state: 'USER_STATE_DELETED' } }]), []);
});

test('by login name: the full one, and the bare one of the user who had it first', async () => {
  const userName = unique('bare');
  const one = await api.setupOrg({ human: { userName } });
  const by = (loginName: string) => idsOf([{ loginNameQuery: { loginName } }]);
  const { user } = (await api.call('GET', `/v2beta/users/${one.userId}`)).body;
  assert.deepEqual(await by(user.preferredLoginName.toUpperCase()), [one.userId]);
  assert.deepEqual(await by(userName), [one.userId]);
  await api.setupOrg({ human: { userName } });
  assert.deepEqual(await by(userName), [one.userId]);
  assert.deepEqual(await by(user.preferredLoginName), [one.userId]);
  assert.deepEqual(await by(`${userName}@nowhere.example`), []);
  assert.deepEqual(await by('@'), []);
});

test('all queries must match', async () => {
  assert.deepEqual(await idsOf([{ userNameQuery: { userName: org.userName } }, within(other.orgId)]), []);
  assert.deepEqual(await idsOf([{ userNameQuery: { userName: org.userName } }, within(org.orgId)]), [org.userId]);
});

test('the result is paged in the order of user names; totalResult counts all', async () => {
  const { orgId } = await api.setupOrg({ human: { userName: 'b' } });
  for (const userName of ['C', 'a', 'd']) {
    await api.call('POST', '/management/v1/users/machine', { userName, name: userName }, { orgId });
  }
  const page = async (query: object) => {
    const { body } = await search({ query, queries: [within(orgId)] });
    assert.equal(body.details.totalResult, '4');
    return body.result.map((u: { username: string }) => u.username).join('');
  };
  assert.equal(await page({}), 'abCd');
  assert.equal(await page({ asc: false }), 'dCba');
  assert.equal(await page({ offset: '1', limit: 2, asc: true }), 'bC');
  assert.equal(await page({ offset: 3, limit: '100' }), 'd');
  assert.equal(await page({ offset: 4 }), '');
});

test('only users of organizations on which the caller has a role are found and counted', async () => {
  const viewer = await api.machine(org.orgId, ['ORG_OWNER_VIEWER']);
  const both = [{ inUserIdsQuery: { userIds: [org.userId, other.userId] } }];
  const { body } = await search({ queries: both }, { token: viewer.token });
  assert.deepEqual([body.details.totalResult, body.result.map((u: Entry) => u.userId)], ['1', [org.userId]]);
  assert.deepEqual((await idsOf(both)).length, 2);
  const nobody = await api.machine(org.orgId);
  const refused = await search({}, { token: nobody.token });
  assert.deepEqual([refused.status, errorId(refused)], [403, 'AUTH-PERMISSION']);
});

test('a search in a foreign organization is 403, whether or not it exists', async () => {
  const { token } = await api.machine(org.orgId, ['ORG_OWNER_VIEWER']);
  for (const foreign of [other.orgId, 'missing']) {
    for (const refused of [
      await search({ queries: [within(org.orgId), within(foreign)] }, { token }),
      await search({ queries: [] }, { token, orgId: foreign }),
      await search({ queries: 'invalid' }, { token, orgId: foreign }),
    ]) {
      assert.deepEqual([refused.status, errorId(refused)], [403, 'AUTH-PERMISSION']);
    }
  }
});

test('x-service-orgid and its alias limit the search to that organization', async () => {
  const both = [{ inUserIdsQuery: { userIds: [org.userId, other.userId] } }];
  assert.deepEqual(await idsOf(both, { orgId: other.orgId }), [other.userId]);
  assert.deepEqual(await idsOf(both, { headers: { 'x-zitadel-orgid': org.orgId } }), [org.userId]);
  assert.deepEqual(await idsOf([within(org.orgId)], { orgId: other.orgId }), []);
  const missing = await search({}, { orgId: 'missing' });
  assert.deepEqual([missing.status, errorId(missing)], [404, 'ORG-NOT-FOUND']);
});

test('invalid fields are named by their paths; an unknown query is refused', async () => {
  const answer = await search({
    query: { offset: 'x', limit: 1001 },
    queries: [
      { in_user_ids_query: { user_ids: 'a' } },
      { stateQuery: { state: 'ACTIVE' } },
      { displayNameQuery: { displayName: 'Ann' } },
      inOrg,
      { userNameQuery: { userName: 'a', method: 'TEXT_QUERY_METHOD_CONTAINS' } },
      { ...within('a'), ...{ userNameQuery: { userName: 'a' } } },
    ],
  });
  assert.equal(answer.status, 400);
  assert.deepEqual(badFieldsOf(answer), [
    'queries[0].inUserIdsQuery.userIds',
    'queries[1].stateQuery.state',
    'queries[2]',
    'queries[3].organizationIdQuery.organizationId',
    'queries[4].userNameQuery.method',
    'queries[5]',
    'query.limit',
    'query.offset',
  ]);
});

test('name, login name, email and ids are served by an index', async () => {
  const { pool } = api.deps;
  await pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, email, email_key, sequence)
    select 'bulk-' || i, $1, 'human', 'active', 'bulk' || i, 'bulk' || i, i || '@bulk', i || '@bulk', 1
    from generate_series(1, 20000) i`,
    [other.orgId],
  );
  await pool.query('analyze users');
  const client = await pool.connect();
  const plans: string[] = [];
  const explained = Object.assign(Object.create(client), {
    async query(sql: string, values: unknown[]) {
      const { rows } = await client.query(`explain ${sql}`, values);
      plans.push(rows.map((r) => r['QUERY PLAN']).join('\n'));
      return client.query(sql, values);
    },
  });
  const { searchUsers } = await import('../../src/users/search.ts');
  const page = { offset: 0, limit: 100, asc: true };
  for (const query of [
    { userNameQuery: { userName: 'bulk77' } },
    { loginNameQuery: { loginName: 'bulk77@somewhere' } },
    { loginNameQuery: { loginName: 'bulk77' } },
    { emailQuery: { emailAddress: '77@bulk' } },
    { inUserIdsQuery: { userIds: ['bulk-77'] } },
  ]) {
    await searchUsers(explained, { queries: [query], page, orgIds: [other.orgId] });
  }
  client.release();
  assert.equal(plans.length, 10);
  for (const plan of plans) assert.doesNotMatch(plan, /Seq Scan on users/, plan);
});
