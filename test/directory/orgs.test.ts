import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { badFieldsOf, errorId, startApi, type TestApi, unique } from '../support/api.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

test('an organization is created, optionally with a chosen id', async () => {
  const id = unique('own');
  const { status, body } = await api.call('POST', '/management/v1/orgs', { name: 'Acme', orgId: id });
  assert.deepEqual([status, body.id, body.details.resourceOwner], [200, id, id]);
  const made = await api.call('POST', '/management/v1/orgs', { name: 'Acme' });
  assert.equal(made.status, 200);
  const taken = await api.call('POST', '/management/v1/orgs', { name: 'Acme', orgId: id });
  assert.deepEqual([taken.status, errorId(taken)], [409, 'ORG-ID-TAKEN']);
  assert.deepEqual(badFieldsOf(await api.call('POST', '/management/v1/orgs', {})), ['name']);
});

test('an organization is read by its id', async () => {
  const { orgId } = await api.setupOrg({ org: { name: 'Read Me', domain: 'read.example' } });
  const { body } = await api.call('GET', `/admin/v1/orgs/${orgId}`);
  const { details, ...org } = body.org;
  assert.deepEqual(org, { id: orgId, state: 'ORG_STATE_ACTIVE', name: 'Read Me', primaryDomain: 'read.example' });
  assert.equal(details.resourceOwner, orgId);
  const missing = await api.call('GET', '/admin/v1/orgs/missing');
  assert.deepEqual([missing.status, missing.body.code], [404, 5]);
});

test('the search filters and pages', async () => {
  const name = unique('Paged');
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await api.call('POST', '/management/v1/orgs', { name })).body.id);
  const search = async (query: object) => {
    const { body } = await api.call('POST', '/admin/v1/orgs/_search', { query, queries: [{ nameQuery: { name } }] });
    assert.equal(body.details.totalResult, '3');
    return body.result.map((o: { id: string }) => o.id);
  };
  assert.deepEqual(await search({}), ids);
  assert.deepEqual(await search({ offset: '1', limit: 1 }), [ids[1]]);
  assert.deepEqual(await search({ asc: false }), ids.toReversed());
  const byId = await api.call('POST', '/admin/v1/orgs/_search', { queries: [{ id_query: { id: ids[0] } }] });
  assert.equal(byId.body.result.length, 1);
  const domain = byId.body.result[0].primaryDomain;
  const byDomain = { queries: [{ domainQuery: { domain: domain.toUpperCase() } }, { nameQuery: { name } }] };
  assert.equal((await api.call('POST', '/admin/v1/orgs/_search', byDomain)).body.result[0].id, ids[0]);
});

test('an invalid search names its fields', async () => {
  const answer = await api.call('POST', '/admin/v1/orgs/_search', {
    query: { limit: 1001, offset: -1 },
    queries: [{ unknownQuery: {} }, { nameQuery: { name: 'x', method: 'TEXT_QUERY_METHOD_CONTAINS' } }],
  });
  assert.deepEqual(badFieldsOf(answer), ['queries[0]', 'queries[1].nameQuery.method', 'query.limit', 'query.offset']);
});

test('"me" is the caller’s organization, or the one that the header names', async () => {
  const [one, two] = [await api.setupOrg(), await api.setupOrg()];
  const viewer = await api.machine(one.orgId, ['ORG_OWNER_VIEWER']);
  const me = async (options: object) =>
    (await api.call('GET', '/management/v1/orgs/me', undefined, options)).body.org?.id;
  assert.equal(await me({ token: viewer.token }), one.orgId);
  assert.equal(await me({ orgId: two.orgId }), two.orgId);
  assert.equal(await me({ headers: { 'x-zitadel-orgid': two.orgId } }), two.orgId);
});

test('the header names an organization in UTF-8, as most programs send it, or in ISO 8859-1', async () => {
  const { orgId } = await api.setupOrg({ org: { orgId: unique('zürich|人') } });
  const latin = await api.setupOrg({ org: { orgId: unique('zürich') } });
  const bytes = (text: string) => Buffer.from(text).toString('latin1');
  for (const [sent, id] of [
    [bytes(orgId), orgId],
    [bytes(latin.orgId), latin.orgId],
    [latin.orgId, latin.orgId],
  ]) {
    const { body } = await api.call('GET', '/management/v1/orgs/me', undefined, { orgId: sent });
    assert.equal(body.org?.id, id);
  }
});

test('an organization without a role of the caller is 403, whether it exists or not; to an IAM_OWNER a missing one is 404', async () => {
  const [one, two] = [await api.setupOrg(), await api.setupOrg()];
  const owner = await api.machine(one.orgId, ['ORG_OWNER']);
  const nobody = await api.machine(one.orgId);
  const answers = [];
  for (const options of [
    { token: owner.token, orgId: two.orgId },
    { token: owner.token, orgId: 'missing' },
    { token: nobody.token },
  ]) {
    answers.push(await api.call('GET', '/management/v1/orgs/me', undefined, options));
  }
  for (const path of [`/admin/v1/orgs/${one.orgId}`, '/admin/v1/orgs/missing']) {
    answers.push(await api.call('GET', path, undefined, { token: owner.token }));
  }
  answers.push(await api.call('POST', '/management/v1/orgs', '{', { token: owner.token }));
  answers.push(await api.call('POST', '/admin/v1/orgs/_search', {}, { token: owner.token }));
  assert.equal(new Set(answers.map((a) => JSON.stringify(a.body))).size, 1);
  assert.deepEqual([...new Set(answers.map((a) => a.status))], [403]);
  const missing = await api.call('GET', '/management/v1/orgs/me', undefined, { orgId: 'missing' });
  assert.equal(missing.status, 404);
});
