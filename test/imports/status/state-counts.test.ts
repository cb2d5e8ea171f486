/** How many imports are in each state: what is counted, for whom, and at what cost. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { StateCounts } from '../../../src/contract/import-types.ts';
import { countStates } from '../../../src/imports/status/progress.ts';
import { addOrgs } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

describe('the number of imports in each state', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'state-counts' });
    await addOrgs(db.pool, 'own', 'other');
    await add(3, 'running', ['own']);
    await add(2, 'undone', ['own', 'other']);
    await add(1, 'undone', ['other']);
    await add(1, 'receiving', []);
  });
  after(() => db.drop());

  async function add(count: number, state: string, orgs: string[]): Promise<void> {
    await db.pool.query(
      `with added as (
         insert into imports (kind, state, created_by, resource_owner)
         select 'bulk', $2::import_state, 'ann', 'own' from generate_series(1, $1) returning id)
       insert into import_orgs (import_id, org_index, org_id, total)
       select id, n - 1, org, 1 from added, unnest($3::text[]) with ordinality as o(org, n)`,
      [count, state, orgs],
    );
  }

  async function addDraft(by: string, orgs: string[]): Promise<void> {
    await db.pool.query(
      `with added as (
         insert into imports (kind, state, created_by, resource_owner) values ('draft', 'uploading', $1, 'own') returning id)
       insert into import_preparations (import_id, orgs, expires_at) select id, $2, now() + interval '1 hour' from added`,
      [by, orgs],
    );
  }

  const count = (orgId?: string, of?: { userId: string; within: string[] }) => countStates(db.pool, { of, orgId });
  const numbers = ({ states, drafts }: StateCounts) => [
    states.IMPORT_STATE_RUNNING,
    states.IMPORT_STATE_UNDONE,
    drafts,
  ];

  it('counts what the list shows to this person, drafts apart', async () => {
    await addDraft('ann', []);
    await addDraft('eve', ['other']);
    await addDraft('eve', ['own']);
    assert.deepEqual(numbers(await count()), [3, 3, 3]);
    assert.deepEqual(numbers(await count('other')), [0, 3, 0], 'a filter by organization leaves drafts out');
    const own = { userId: 'ann', within: ['own'] };
    assert.deepEqual(numbers(await count(undefined, own)), [3, 0, 2], 'nothing that has users of another organization');
    assert.deepEqual(numbers(await count('other', own)), [0, 0, 0]);
  });

  it('counts dry runs apart', async () => {
    await db.pool.query(`update imports set dry_run = true where id = (select min(id) from imports)`);
    const counts = await count();
    assert.deepEqual([...numbers(counts), counts.dryRuns], [2, 3, 3, 1]);
  });

  it('counts the newest 10,000, and says that there are more', async () => {
    assert.equal((await count()).isCapped, false);
    await add(10_001, 'succeeded', ['own']);
    const { states, isCapped } = await count();
    assert.equal(states.IMPORT_STATE_SUCCEEDED, 10_000);
    assert.equal(states.IMPORT_STATE_RUNNING, 0, 'the older ones are not counted');
    assert.equal(isCapped, true);
    assert.equal((await count('own', { userId: 'ann', within: ['own'] })).isCapped, true);
  });
});
