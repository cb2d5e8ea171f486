/** Deleted organizations: a preview, seven days in which it can be taken back, and the removal in batches. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { removeOrgRound } from '../../src/directory/organization-removal.ts';
import { writeBatch } from '../../src/imports/run/write-batch.ts';
import { removeRound } from '../../src/imports/upkeep/retention.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { bootstrap } from '../../src/signin/bootstrap.ts';
import { type CallOptions, errorId, startApi, type TestApi, unique } from '../support/api.ts';
import { must } from '../support/calls.ts';
import { bulk } from '../support/imports/bodies.ts';
import { SETTINGS } from '../support/imports/existing.ts';
import { entry, openWriterPool } from '../support/imports/imports.ts';

let api: TestApi;
let writer: Pool;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0' } });
  writer = openWriterPool(api.deps.config.DATABASE_URL);
});
after(async () => {
  await writer.end();
  await api.stop();
});

const PATH = '/management/v1/orgs/me';
const call = (method: string, path: string, body?: unknown, options: CallOptions = {}) =>
  must(api.call(method, path, body, options));
const remove = (orgId: string, options: CallOptions = {}) => api.call('DELETE', PATH, undefined, { orgId, ...options });
const restore = (orgId: string, options: CallOptions = {}) =>
  api.call('POST', `${PATH}/_undelete`, undefined, { orgId, ...options });
const rows = async (text: string, ...values: unknown[]) => (await api.deps.pool.query(text, values)).rows;
const orgState = async (orgId: string) => (await call('GET', `/admin/v1/orgs/${orgId}`)).body.org.state;

async function olderBy(orgId: string, days: number): Promise<void> {
  const text = "update organizations set removed_at = removed_at - $2 * interval '1 day' where id = $1";
  await rows(text, orgId, days);
}

async function runRemoval(): Promise<void> {
  while (await removeOrgRound(api.deps.pool));
  while (await removeRound(api.deps.pool, 1e12));
}

/** An organization with users, a written import, one that waits, a draft, a source, a policy and a member. */
async function inhabited() {
  const org = await api.setupOrg();
  const { orgId } = org;
  const options = { orgId };
  const robot = await api.machine(orgId, ['ORG_OWNER']);
  const people = [entry(unique('p')), entry(unique('p'), { email: { email: 'p@example.com' } })];
  const written = (await call('POST', '/admin/v1/import', bulk(orgId, people))).body.importId;
  await writeBatch(writer, written, [0, 1], SETTINGS);
  const waiting = (await call('POST', '/admin/v1/import', bulk(orgId, [entry(unique('p'))]))).body.importId;
  await call('POST', '/admin/v1/import?draft=true', bulk(orgId, [entry(unique('p'))]));
  const source = { name: 'Old', kind: 'http', settings: { url: 'https://old.example.com/check' } };
  await call('POST', '/management/v1/password_sources', source, options);
  await call('POST', '/management/v1/idps', { type: 'google', clientId: 'c' }, options);
  await call('POST', '/management/v1/policies/login', { forceMfa: false }, options);
  return { ...org, robot, written, waiting };
}

test('only an IAM_OWNER previews, deletes and restores', async () => {
  const { orgId } = await api.setupOrg();
  const { token } = await api.machine(orgId, ['ORG_OWNER']);
  assert.equal((await api.call('GET', `${PATH}/removal_preview`, undefined, { orgId, token })).status, 403);
  assert.equal((await remove(orgId, { token })).status, 403);
  assert.equal((await restore(orgId, { token })).status, 403);
  assert.equal(errorId(await restore(orgId)), 'ORG-STATE');
  assert.equal((await remove(orgId)).status, 200);
  assert.equal(errorId(await remove(orgId)), 'ORG-STATE');
  const deactivated = await api.call('POST', `${PATH}/_deactivate`, undefined, { orgId });
  assert.equal(errorId(deactivated), 'ORG-STATE');
  assert.equal((await restore(orgId)).status, 200);
});

test('the preview counts what goes', async () => {
  const { orgId } = await inhabited();
  const { body } = await call('GET', `${PATH}/removal_preview`, undefined, { orgId });
  const { events, ...counts } = body;
  assert.deepEqual(counts, {
    humans: 3,
    machineUsers: 1,
    members: 2,
    imports: 2,
    sharedImports: 0,
    drafts: 1,
    passwordSources: 1,
    identityProviders: 1,
    unsentMails: 1,
  });
  assert.ok(events > 5);
});

test('for seven days it is as inactive as a deactivated one, and then comes back whole', async () => {
  const org = await inhabited();
  const { orgId, userId, password, robot, waiting } = org;
  const session = () => api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, password: { password } } });
  const me = () => api.call('GET', '/management/v1/me', undefined, { token: robot.token });
  assert.equal((await remove(orgId)).status, 200);
  assert.equal(await orgState(orgId), 'ORG_STATE_REMOVED');
  assert.deepEqual([(await session()).status, (await me()).status], [400, 401]);
  assert.equal((await call('GET', `/admin/v1/imports/${waiting}`)).body.state, 'IMPORT_STATE_PAUSED');
  const again = await api.call('POST', '/management/v1/orgs', { name: 'Other', orgId });
  assert.equal(errorId(again), 'ORG-ID-TAKEN');
  await olderBy(orgId, 6);
  await runRemoval();
  assert.equal((await restore(orgId)).status, 200);
  assert.equal(await orgState(orgId), 'ORG_STATE_ACTIVE');
  assert.deepEqual([(await session()).status, (await me()).status], [201, 200]);
  await call('POST', `/admin/v1/imports/${waiting}/_resume`, {});
  await writeBatch(writer, waiting, [0], SETTINGS);
});

test('one that was deactivated before is so again', async () => {
  const { orgId } = await api.setupOrg();
  await call('POST', `${PATH}/_deactivate`, undefined, { orgId });
  await remove(orgId);
  await restore(orgId);
  assert.equal(await orgState(orgId), 'ORG_STATE_INACTIVE');
});

test('then everything of it is removed, and nothing of others; the id stays taken', async () => {
  const [gone, other] = [await inhabited(), await inhabited()];
  const { orgId } = gone;
  const both = bulk(orgId, [entry(unique('p'))]);
  both.dataOrgs.orgs.push(...bulk(other.orgId, [entry(unique('p'))]).dataOrgs.orgs);
  const shared = (await call('POST', '/admin/v1/import', both)).body.importId;
  await remove(orgId);
  await olderBy(orgId, 8);
  assert.equal(errorId(await restore(orgId)), 'ORG-STATE', 'too late');
  await runRemoval();
  assert.equal((await api.call('GET', `/admin/v1/orgs/${orgId}`)).status, 404);
  for (const [table, column] of [
    ...['users', 'org_members', 'password_sources', 'idps', 'login_policies'].map((name) => [name, 'org_id']),
    ['events', 'resource_owner'],
    ['organizations', 'id'],
  ] as const) {
    const left = await rows(`select from ${table} where ${column} = $1`, orgId);
    assert.equal(left.length, table === 'events' ? 1 : 0, table);
    const kept = await rows(`select from ${table} where ${column} = $1`, other.orgId);
    assert.ok(kept.length > 0, `${table} of the other organization`);
  }
  for (const importId of [gone.written, gone.waiting]) {
    assert.equal((await api.call('GET', `/admin/v1/imports/${importId}`)).status, 404);
    assert.equal((await rows('select from import_items where import_id = $1', importId)).length, 0);
  }
  assert.equal((await call('GET', `/admin/v1/imports/${shared}`)).body.state, 'IMPORT_STATE_CANCELLED');
  const resumed = await api.call('POST', `/admin/v1/imports/${shared}/_resume`, { timeout: '10m' });
  assert.equal(errorId(resumed), 'ORG-INACTIVE');
  const again = await api.call('POST', '/management/v1/orgs', { name: 'Other', orgId });
  assert.equal(errorId(again), 'ORG-ID-TAKEN');
  const { body } = await call('POST', '/admin/v1/events/_search', { orgId });
  assert.equal(body.result[0].type, 'organization.removed');
  assert.equal((await call('GET', `/admin/v1/orgs/${other.orgId}`)).body.org.state, 'ORG_STATE_ACTIVE');
});

test('a deleted organization is not changed before it is restored, also by an IAM_OWNER', async () => {
  const { orgId, userId } = await api.setupOrg();
  assert.equal((await remove(orgId)).status, 200);
  const changes = [
    ['POST', '/management/v1/users/machine', { userName: unique('robot'), name: 'Robot' }],
    ['PUT', `${PATH}/limits`, { users: 5 }],
    ['POST', `${PATH}/members`, { userId, roles: ['ORG_OWNER'] }],
    ...['login', 'password/age', 'password/complexity', 'branding'].flatMap((policy) =>
      [...(policy === 'branding' ? [] : ['POST']), 'PUT', 'DELETE'].map(
        (method) => [method, `/management/v1/policies/${policy}`, method === 'DELETE' ? undefined : {}] as const,
      ),
    ),
  ] as const;
  for (const [method, path, body] of changes) {
    const answer = await api.call(method, path, body, { orgId });
    assert.deepEqual([answer.status, errorId(answer)], [400, 'ORG-STATE'], `${method} ${path}`);
    assert.match(answer.body.message, /is deleted; take the deletion back first/);
  }
  for (const path of [`${PATH}/limits`, '/management/v1/policies/login'])
    assert.equal((await api.call('GET', path, undefined, { orgId })).status, 200, path);
  assert.equal((await restore(orgId)).status, 200);
  const [method, path, body] = changes[0];
  assert.equal((await api.call(method, path, body, { orgId })).status, 200);
});

test('the last IAM_OWNER stays, and the removal of the first organization does not set up the instance again', async () => {
  const home = (await call('GET', PATH)).body.org.id;
  assert.equal(errorId(await remove(home)), 'MEMBER-LAST-OWNER');
  const { orgId } = await api.setupOrg();
  const second = await api.machine(orgId);
  await call('POST', '/admin/v1/members', { userId: second.userId, roles: ['IAM_OWNER'] });
  assert.equal((await remove(home)).status, 200);
  assert.equal((await api.call('GET', '/management/v1/me')).status, 401);
  await olderBy(home, 8);
  await runRemoval();
  assert.equal((await bootstrap({ ...api.deps })).created, false);
  assert.equal((await api.call('GET', '/management/v1/me')).status, 401);
  assert.equal((await api.call('GET', '/management/v1/me', undefined, { token: second.token })).status, 200);
});
