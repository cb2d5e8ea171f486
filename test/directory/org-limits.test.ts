/** Limits of organizations: who sets them, and that nothing gets past them, also not at the same time. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { writeBatch } from '../../src/imports/run/write-batch.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { type Answer, type CallOptions, errorId, startApi, type TestApi, unique } from '../support/api.ts';
import { must } from '../support/calls.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { SETTINGS } from '../support/imports/existing.ts';
import { entry, openWriterPool } from '../support/imports/imports.ts';

let api: TestApi;
let writer: Pool;
before(async () => {
  api = await startApi();
  writer = openWriterPool(api.deps.config.DATABASE_URL);
});
after(async () => {
  await writer.end();
  await api.stop();
});

const LIMITS = '/management/v1/orgs/me/limits';
const setLimits = (orgId: string, limits: unknown, options: CallOptions = {}) =>
  api.call('PUT', LIMITS, limits, { orgId, ...options });
const limitsOf = async (orgId: string) => (await must(api.call('GET', LIMITS, undefined, { orgId }))).body;
const importInto = (orgId: string, count: number, query = '') =>
  api.call('POST', `/admin/v1/import${query}`, bulk(orgId, people(unique('p'), count)));
const accepted = async (answer: Promise<Answer>) => (await must(answer)).body.importId as string;
const act = (importId: string, action: string) => api.call('POST', `/admin/v1/imports/${importId}/${action}`, {});
const write = (importId: string, count: number) =>
  writeBatch(
    writer,
    importId,
    Array.from({ length: count }, (_, i) => i),
    SETTINGS,
  );
const human = (orgId: string, userName = unique('h')) =>
  api.call('POST', '/v2beta/users/human', {
    username: userName,
    organization: { orgId },
    profile: { givenName: 'Ann', familyName: 'Arbor' },
    email: { email: `${userName}@acme.example`, isVerified: true },
  });
/** A new organization, which has one user. */
async function limited(limits: unknown): Promise<string> {
  const { orgId } = await api.setupOrg();
  await must(setLimits(orgId, limits));
  return orgId;
}

test('an IAM_OWNER sets the limits, an ORG_OWNER sees them, and both see what is used', async () => {
  const { orgId } = await api.setupOrg();
  const { token } = await api.machine(orgId, ['ORG_OWNER']);
  assert.equal((await setLimits(orgId, { users: 5 }, { token })).status, 403);
  await must(setLimits(orgId, { users: 5, importsAtOnce: null, usersPerImport: 0 }));
  const { details, ...shown } = (await must(api.call('GET', LIMITS, undefined, { orgId, token }))).body;
  assert.deepEqual(shown, { users: 5, usersPerImport: 0, usage: { users: 2, pendingUsers: 0, importsAtOnce: 0 } });
  assert.equal(details.resourceOwner, orgId);
  await must(setLimits(orgId, { importsAtOnce: 3 }));
  const { users, importsAtOnce } = await limitsOf(orgId);
  assert.deepEqual([users, importsAtOnce], [undefined, 3], 'a PUT replaces');
  for (const bad of [-1, 1.5, 1_000_000_001, '5', true]) {
    assert.equal(errorId(await setLimits(orgId, { users: bad })), 'ORG-LIMITS');
  }
  const events = await must(api.call('POST', '/admin/v1/events/_search', {}, { orgId }));
  const types = events.body.result.map(({ type }: { type: string }) => type);
  assert.equal(types.filter((type: string) => type === 'organization.limits.set').length, 2);
});

test('an import may bring so many users of the organization, and others are not concerned', async () => {
  const orgId = await limited({ usersPerImport: 2 });
  const other = await api.setupOrg();
  for (const query of ['', '?dryRun=true']) {
    const refused = await importInto(orgId, 3, query);
    assert.deepEqual([refused.status, errorId(refused)], [400, 'ORG-LIMIT-USERS-PER-IMPORT']);
    assert.match(refused.body.message, new RegExp(`2 users of the organization ${orgId}, and this one brings 3`));
  }
  const orgs = [other.orgId, orgId].map((id) => ({ orgId: id, humanUsers: people(unique('m'), 2) }));
  await must(api.call('POST', '/admin/v1/import', { dataOrgs: { orgs }, timeout: '10m' }));
  assert.equal((await limitsOf(orgId)).usage.pendingUsers, 2);
});

test('imports at once are refused with 429 until one ends, also when one would run again', async () => {
  const orgId = await limited({ importsAtOnce: 1 });
  const first = await accepted(importInto(orgId, 2));
  for (const query of ['', '?dryRun=true']) {
    const refused = await importInto(orgId, 1, query);
    assert.deepEqual([refused.status, errorId(refused)], [429, 'ORG-LIMIT-IMPORTS']);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
  }
  await must(act(first, '_pause'));
  assert.equal(errorId(await importInto(orgId, 1)), 'ORG-LIMIT-IMPORTS', 'a paused one counts');
  await must(act(first, '_cancel'));
  const second = await accepted(importInto(orgId, 1));
  assert.equal(errorId(await act(first, '_resume')), 'ORG-LIMIT-IMPORTS');
  await write(second, 1);
  await must(act(first, '_resume'));
  await write(first, 2);
});

test('of imports and users that come at the same time no more get in than the limits allow', async () => {
  const orgId = await limited({ importsAtOnce: 3 });
  const all = await Promise.all(Array.from({ length: 8 }, () => importInto(orgId, 1)));
  assert.equal(all.filter(({ status }) => status === 202).length, 3);
  const small = await limited({ users: 8 });
  const each = await Promise.all([
    ...Array.from({ length: 4 }, () => importInto(small, 2)),
    ...Array.from({ length: 4 }, () => human(small)),
  ]);
  const { usage } = await limitsOf(small);
  assert.ok(usage.users + usage.pendingUsers <= 8, JSON.stringify(usage));
  assert.ok(usage.users + usage.pendingUsers >= 7, 'what fits was accepted');
  const refused = each.filter(({ status }) => status >= 400);
  assert.deepEqual([...new Set(refused.map(errorId))], ['ORG-LIMIT-USERS']);
});

test('users have a limit in all ways to create one, and the users of running imports count', async () => {
  const orgId = await limited({ users: 4 });
  for (const query of ['', '?dryRun=true']) {
    const refused = await importInto(orgId, 4, query);
    assert.deepEqual([refused.status, errorId(refused)], [400, 'ORG-LIMIT-USERS']);
  }
  const importId = await accepted(importInto(orgId, 3));
  const machine = { userName: unique('m'), name: 'Robot' };
  const ways = [
    human(orgId),
    api.call('POST', '/management/v1/users/machine', machine, { orgId }),
    api.call('POST', '/management/v1/users/human/_import', entry(unique('s')).user, { orgId }),
  ];
  for (const refused of await Promise.all(ways)) {
    assert.deepEqual([refused.status, errorId(refused)], [400, 'ORG-LIMIT-USERS']);
  }
  await write(importId, 3);
  assert.deepEqual((await limitsOf(orgId)).usage, { users: 4, pendingUsers: 0, importsAtOnce: 0 });
  await must(setLimits(orgId, { users: 1 }));
  assert.equal((await limitsOf(orgId)).usage.users, 4, 'a lower limit takes nothing away');
  assert.equal(errorId(await human(orgId)), 'ORG-LIMIT-USERS');
  await must(setLimits(orgId, {}));
  await must(human(orgId));
});

test('users who exist take no further place in an import that updates them', async () => {
  const orgId = await limited({ users: 4 });
  const [one, two] = [entry(unique('e')), entry(unique('e'))];
  await write(await accepted(api.call('POST', '/admin/v1/import', bulk(orgId, [one, two]))), 2);
  const sync = (count: number) =>
    api.call('POST', '/admin/v1/import?onExisting=update', bulk(orgId, [one, two, ...people(unique('n'), count)]));
  assert.equal(errorId(await sync(2)), 'ORG-LIMIT-USERS');
  await accepted(sync(1));
  assert.equal(errorId(await human(orgId)), 'ORG-LIMIT-USERS');
  await accepted(sync(0));
});

test('what was cancelled or failed gives its place back, and needs one to run again', async () => {
  const orgId = await limited({ users: 3 });
  const taken = unique('t');
  const { body } = await must(human(orgId, taken));
  const failing = await accepted(
    api.call('POST', '/admin/v1/import', bulk(orgId, [entry(taken, { userName: taken })])),
  );
  await write(failing, 1);
  const cancelled = await accepted(importInto(orgId, 1));
  await must(act(cancelled, '_cancel'));
  await must(human(orgId));
  assert.equal(errorId(await act(cancelled, '_resume')), 'ORG-LIMIT-USERS');
  await must(api.call('DELETE', `/v2beta/users/${body.userId}`));
  await must(act(failing, '_retry'));
  assert.equal(errorId(await act(cancelled, '_resume')), 'ORG-LIMIT-USERS', 'the retried one has the place');
});

test('requests of an organization are limited, by all of its programs together, and no others', async () => {
  const { orgId } = await api.setupOrg();
  const [one, two, plain] = [
    await api.machine(orgId, ['ORG_OWNER']),
    await api.machine(orgId, ['ORG_OWNER']),
    await api.machine(orgId),
  ];
  const other = await api.machine((await api.setupOrg()).orgId, ['ORG_OWNER']);
  const me = (token: string) => api.call('GET', '/management/v1/me', undefined, { token });
  await must(setLimits(orgId, { requestsPerMinute: 3 }));
  for (const { token } of [one, two, plain]) await must(me(token));
  for (const { token } of [one, two, plain]) {
    const refused = await me(token);
    assert.deepEqual([refused.status, errorId(refused)], [429, 'ORG-LIMIT-REQUESTS']);
    const seconds = Number(refused.headers.get('retry-after'));
    assert.ok(seconds > 0 && seconds <= 60);
  }
  const seen = async () => (await limitsOf(orgId)).usage.requestsPerMinute;
  assert.equal(await seen(), 6, 'of all programs, with refused ones; the calls of an IAM_OWNER do not count');
  await api.deps.pool.query('update attempt_counts set ends_at = now()');
  assert.equal(await seen(), 0, 'the minute is over');
  await must(me(one.token));
  const own = (await must(api.call('GET', LIMITS, undefined, { orgId, token: one.token }))).body;
  assert.equal(own.usage.requestsPerMinute, 2, 'with the request itself');
  await must(me(other.token));
  await must(setLimits(orgId, {}));
  assert.equal(await seen(), undefined, 'without a limit nothing is counted');
  await must(me(one.token));
});

test('an IAM_OWNER of a limited organization can take the limit back', async () => {
  const orgId = await limited({ requestsPerMinute: 0 });
  const robot = await api.machine(orgId);
  await must(api.call('POST', '/admin/v1/members', { userId: robot.userId, roles: ['IAM_OWNER'] }));
  await must(setLimits(orgId, {}, { token: robot.token }));
  await must(api.call('DELETE', `/admin/v1/members/${robot.userId}`));
});

test('the entries of a draft are within the limits when it starts', async () => {
  const orgId = await limited({ users: 2, importsAtOnce: 1 });
  const start = (id: string) => api.call('POST', `/admin/v1/imports/${id}/_start`, { timeout: '10m' });
  const large = await accepted(importInto(orgId, 2, '?draft=true'));
  const small = await accepted(importInto(orgId, 1, '?draft=true'));
  assert.equal(errorId(await start(large)), 'ORG-LIMIT-USERS');
  await must(start(small));
  await must(setLimits(orgId, { importsAtOnce: 1 }));
  assert.equal(errorId(await start(large)), 'ORG-LIMIT-IMPORTS');
  await write(small, 1);
  await must(start(large));
});
