/**
 * Nobody learns for nothing which ids other organizations have: only a user who is created, and audited, shows whether
 * an id is free. Each test asks about an id that another organization has or had, and about one that nobody has.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ExistingRule } from '../../src/imports/entries/options.ts';
import { batchStore, specialStores } from '../../src/imports/run/stores.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { errorId, startApi, type TestApi, unique } from '../support/api.ts';
import { bulk } from '../support/imports/bodies.ts';
import { SETTINGS } from '../support/imports/existing.ts';
import { type Entry, entry, errorIdOf, itemRows, openWriterPool } from '../support/imports/imports.ts';
import { must } from './rows.ts';

const RULES: readonly ExistingRule[] = ['fail', 'skip', 'update'];

let api: TestApi;
let writer: Pool;
let orgId: string;
let owner: string;
/** An id of another organization's user, one of its deleted users, and one of nobody. */
let ids: string[];
before(async () => {
  api = await startApi();
  writer = openWriterPool(api.deps.config.DATABASE_URL);
  orgId = (await api.setupOrg()).orgId;
  owner = (await api.machine(orgId, ['ORG_OWNER'])).token;
  const other = (await api.setupOrg()).orgId;
  const machine = async () =>
    (await must(api, 'POST', '/management/v1/users/machine', { userName: unique('m'), name: 'M' }, other)).userId;
  const [there, gone] = [await machine(), await machine()];
  await must(api, 'DELETE', `/v2beta/users/${gone}`, undefined);
  ids = [there, gone, unique('nobody')];
});
after(async () => {
  await writer.end();
  await api.stop();
});

const withIds = (): Entry[] => ids.map((userId) => ({ ...entry(unique('u')), userId }));

/** Imports the people, one import for each, as names within one must differ. @returns the error id or state of each */
async function outcomes(people: Entry[], rule: ExistingRule, token: string, dryRun = false): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const person of people) {
    const path = `/admin/v1/import?onExisting=${rule}&dryRun=${dryRun}`;
    const { status, body } = await api.call('POST', path, bulk(orgId, [person]), { token });
    assert.equal(status, 202, JSON.stringify(body));
    const special = specialStores(writer, SETTINGS);
    const store = dryRun ? special.dry : rule === 'fail' ? batchStore(writer, SETTINGS) : special[rule];
    assert.deepEqual(await store.write(body.importId, [0]), []);
    const [item] = await itemRows(api.deps.pool, body.importId);
    found.push(item && (errorIdOf(item) ?? item.state));
    if (dryRun) found.push((await must(api, 'GET', `/admin/v1/imports/${body.importId}`, undefined)).warnings);
  }
  return found;
}

test('a dry run of an ORG_OWNER answers the same for every id, and says what it does not know', async () => {
  for (const rule of RULES) {
    const [state, warnings, ...others] = await outcomes(withIds(), rule, owner, true);
    assert.equal(state, 'succeeded', rule);
    assert.deepEqual(others, [state, warnings, state, warnings], rule);
    const [warning, ...more] = warnings as { path: string; count: number; message: string }[];
    assert.deepEqual([warning?.path, warning?.count, more], ['', 1, []]);
    assert.match(warning?.message ?? '', /^New users with a userId: 1\. .* would fail with USER-ID-TAKEN\.$/);
  }
});

test('a dry run of an IAM_OWNER names them', async () => {
  for (const rule of RULES) {
    const found = await outcomes(withIds(), rule, api.token, true);
    assert.deepEqual(found, ['USER-ID-TAKEN', [], 'USER-ID-TAKEN', [], 'succeeded', []], rule);
  }
});

test('a dry run names ids of the own organization', async () => {
  const { userId } = await api.machine(orgId, []);
  const [state] = await outcomes([{ ...entry(unique('u')), userId }], 'fail', owner, true);
  assert.equal(state, 'USER-ID-TAKEN');
});

test('an import whose user cannot be created for its name answers the same for every id', async () => {
  const name = unique('held');
  await outcomes([entry(name)], 'fail', owner);
  for (const rule of RULES) {
    const people = ids.map((userId) => ({ ...entry(name), userId }));
    const [state, ...others] = await outcomes(people, rule, owner);
    assert.equal(state, rule === 'skip' ? 'skipped' : 'USER-NAME-TAKEN', rule);
    assert.deepEqual(others, [state, state], rule);
  }
});

test('so does the creation of one user', async () => {
  const userName = unique('held');
  await must(api, 'POST', '/management/v1/users/machine', { userName, name: 'M' }, orgId);
  const email = { email: `${userName}@example.com`, isVerified: true };
  const profile = { givenName: 'Ann', familyName: 'Arbor' };
  for (const userId of ids) {
    const human = { userId, username: userName, organization: { orgId }, profile, email };
    for (const [path, body] of [
      ['/management/v1/users/machine', { userId, userName, name: 'M' }],
      ['/v2beta/users/human', human],
    ] as const) {
      const answer = await api.call('POST', path, body, { token: owner, orgId });
      assert.deepEqual([answer.status, errorId(answer)], [409, 'USER-NAME-TAKEN'], path);
    }
  }
});

test('only who is created shows that an id is free', async () => {
  for (const rule of RULES) {
    ids[2] = unique('nobody');
    assert.deepEqual(await outcomes(withIds(), rule, owner), ['USER-ID-TAKEN', 'USER-ID-TAKEN', 'succeeded'], rule);
  }
});
