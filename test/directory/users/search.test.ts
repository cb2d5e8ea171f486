import assert from 'node:assert/strict';
import test, { after, before, describe, it } from 'node:test';
import { COUNTED, conditionOf, filterOf, parameters, searchUsers } from '../../../src/directory/users/search.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';

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

test('by display name, in full or by its beginning in any case, and by phone number however it is written', async () => {
  const { orgId, userId } = await api.setupOrg();
  await api.deps.pool.query('update users set display_name = $2, phone = $3 where id = $1', [
    ...[userId, 'Zoë 100%_Ångström', 'tel:+41-79-765-43-21'],
  ]);
  const named = (displayName: string, method?: string) =>
    idsOf([{ displayNameQuery: { displayName, ...(method ? { method } : {}) } }, within(orgId)]);
  const begins = 'TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE';
  assert.deepEqual(await named('zoë 100%_ångström'), [userId]);
  assert.deepEqual(await named('Zoë'), [], 'the beginning is not the whole name');
  for (const text of ['zo', 'ZOË 100%_', 'Zoë 100%_Å']) assert.deepEqual(await named(text, begins), [userId], text);
  for (const text of ['oë', 'zz', 'Zoë 100_', 'Zoë 1000']) assert.deepEqual(await named(text, begins), [], text);
  const words = 'TEXT_QUERY_METHOD_WORDS_START_WITH_IGNORE_CASE';
  for (const text of ['ång', 'zoë', 'Ångström Zo', '100%', "zoë'--", 'zo(å)']) {
    assert.deepEqual(await named(text, words), [userId], text);
  }
  for (const text of ['oë', 'zoë x', 'ström', '--']) assert.deepEqual(await named(text, words), [], text);
  const short = await search({ queries: [{ displayNameQuery: { displayName: 'z', method: begins } }] });
  assert.equal(short.status, 400);
  assert.match(JSON.stringify(short.body), /must have at least 2 characters with this method/);
  const called = (number: string) => idsOf([{ phoneQuery: { number } }, within(orgId)]);
  for (const number of ['+41 79 765 43 21', '0041797654321', 'tel:+41-79-765-43-21'])
    assert.deepEqual(await called(number), [userId], number);
  for (const number of ['+41 79 765 43 22', '079 765 43 21', 'no number'])
    assert.deepEqual(await called(number), [], number);
});

test('words of a name are found in an index', async () => {
  const { values, parameter } = parameters();
  const method = 'TEXT_QUERY_METHOD_WORDS_START_WITH_IGNORE_CASE';
  const filter = filterOf([{ displayNameQuery: { displayName: 'mül an', method } }], parameter, undefined);
  const plan = await transaction(api.deps.pool, async (db) => {
    await db.query('set local enable_seqscan = off');
    return db.query(`explain select from users u where ${conditionOf(filter, parameter)}`, values);
  });
  assert.match(plan.rows.map((row) => row['QUERY PLAN']).join('\n'), /Bitmap Index Scan on users_words/);
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

test('by the beginning of the user name, in any case', async () => {
  const { orgId } = await api.setupOrg({ human: { userName: unique('other') } });
  const start = unique('Pré');
  for (const end of ['', '-b', '-A', '\u{10ffff}', '\ue000x']) {
    const userName = `${start}${end}`;
    await api.call('POST', '/management/v1/users/machine', { userName, name: 'x' }, { orgId });
  }
  const namesOf = async (userName: string, ...others: object[]) => {
    const method = 'TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE';
    const { body } = await search({ queries: [{ userNameQuery: { userName, method } }, ...others] });
    return body.result.map((u: { username: string }) => u.username.slice(start.length));
  };
  const all = ['', '-A', '-b', '\ue000x', '\u{10ffff}'];
  assert.deepEqual(await namesOf(start.toUpperCase()), all);
  assert.deepEqual(await namesOf(start, within(orgId)), all);
  assert.deepEqual(await namesOf(`${start}-`, within(orgId), { stateQuery: { state: 'USER_STATE_ACTIVE' } }), [
    '-A',
    '-b',
  ]);
  assert.deepEqual(await namesOf(`${start}-`, { stateQuery: { state: 'USER_STATE_LOCKED' } }), []);
  assert.deepEqual(await namesOf(`${start}\u{10ffff}`), ['\u{10ffff}']);
});

test('a page token leads to the next page in both directions, also past users who are deleted or added', async () => {
  const name = unique('paged');
  const { orgId } = await api.setupOrg({ human: { userName: `${name}-5` } });
  const two = await api.setupOrg({ human: { userName: `${name}-3` } });
  const add = (n: number, org: string) =>
    api.call('POST', '/management/v1/users/machine', { userName: `${name}-${n}`, name: 'x' }, { orgId: org });
  for (const n of [1, 2, 3, 4]) await add(n, orgId);
  const prefix = { userNameQuery: { userName: name, method: 'TEXT_QUERY_METHOD_STARTS_WITH' } };
  const pageOf = async (query: object, ...queries: object[]) => {
    const { body } = await search({ query: { limit: 2, ...query }, queries: [prefix, ...queries] });
    return { ids: body.result.map((u: Entry & { username: string }) => u.username.slice(-1)).join(''), body };
  };
  const pages = async (asc: boolean, ...queries: object[]) => {
    const found: string[] = [];
    for (let pageToken: string | undefined; ; ) {
      const { ids, body } = await pageOf({ asc, ...(pageToken ? { pageToken } : {}) }, ...queries);
      found.push(ids);
      pageToken = body.nextPageToken;
      if (!pageToken) return found;
    }
  };
  assert.deepEqual(await pages(true), ['12', '33', '45']);
  assert.deepEqual(await pages(false), ['54', '33', '21']);
  assert.deepEqual(await pages(true, within(orgId)), ['12', '34', '5']);
  assert.deepEqual(await pages(false, within(orgId)), ['54', '32', '1']);
  assert.deepEqual(await pages(true, { emailQuery: { emailAddress: 'nobody@example.com' } }), ['']);
  const { body } = await pageOf({ limit: 3 });
  await api.deps.pool.query('delete from users where id = $1', [body.result[2].userId]);
  await add(0, two.orgId);
  const next = await pageOf({ pageToken: body.nextPageToken });
  assert.deepEqual([next.ids, next.body.details.totalResult], ['34', '6']);
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
    query: { offset: 'x', limit: 1001, pageToken: 'eyJhIjoxfQ' },
    queries: [
      { in_user_ids_query: { user_ids: 'a' } },
      { stateQuery: { state: 'ACTIVE' } },
      { nickNameQuery: { nickName: 'Ann' } },
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
    'query.pageToken',
  ]);
});

describe('with more users than a search counts', () => {
  before(async () => {
    const { pool } = api.deps;
    await pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, email, email_key, sequence)
       select 'bulk-' || i, $1, 'human', 'active', 'bulk' || i, 'bulk' || i, i || '@bulk', i || '@bulk', 1
       from generate_series(1, $2) i`,
      [other.orgId, 2 * COUNTED],
    );
    await pool.query('analyze users');
  });

  it('the total is an estimate until the last page, and always more than the users shown', async () => {
    const details = async (query: object) => (await search({ query, queries: [within(other.orgId)] })).body.details;
    const first = await details({ limit: 10 });
    assert.equal(first.totalIsEstimate, true);
    assert.ok(Math.abs(Number(first.totalResult) - 2 * COUNTED) < COUNTED / 2, first.totalResult);
    const last = { totalResult: String(2 * COUNTED + 1) };
    assert.deepEqual(await details({ offset: 2 * COUNTED, limit: 1 }), last);
    assert.deepEqual(await details({ offset: 2 * COUNTED - 5, limit: 100 }), last);
    const { totalResult } = await details({ offset: 2 * COUNTED - 5, limit: 5 });
    assert.ok(Number(totalResult) > 2 * COUNTED, totalResult);
    await api.deps.pool.query(`update pg_class set reltuples = 100 where oid = 'users'::regclass`);
    assert.ok(Number((await details({ offset: COUNTED, limit: 500 })).totalResult) > COUNTED + 500);
    assert.equal((await details({ offset: COUNTED * 5 })).totalIsEstimate, true);
    assert.ok(Number((await details({ offset: COUNTED * 5 })).totalResult) <= COUNTED * 5);
  });

  it('name, login name, email and ids are served by an index', async () => {
    const { pool } = api.deps;
    const client = await pool.connect();
    const plans: string[] = [];
    const explained = Object.assign(Object.create(client), {
      async query(sql: string, values: unknown[]) {
        const { rows } = await client.query(`explain ${sql}`, values);
        plans.push(rows.map((r) => r['QUERY PLAN']).join('\n'));
        return client.query(sql, values);
      },
    });
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
});
