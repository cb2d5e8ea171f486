import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Caller } from '../../../src/contract/permissions.ts';
import type { ImportDeps } from '../../../src/imports/entries/options.ts';
import { backlog, requireRoom } from '../../../src/imports/intake/requirements.ts';
import type { Config } from '../../../src/platform/config.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { acceptImport, addOrgs, entries, setImport } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

let db: TestDatabase;
before(async () => {
  db = await testDatabase({ name: 'backlog' });
  await addOrgs(db.pool, 'org');
});
after(() => db.drop());

it('the backlog is the users that running and paused imports still have to write', async () => {
  assert.equal(await backlog(db.pool), 0);
  const running = await acceptImport(db.pool, entries(10));
  await setImport(db.pool, running, { succeeded: '4', failed: '1' });
  const paused = await acceptImport(db.pool, entries(20));
  await setImport(db.pool, paused, { state: "'paused'", skipped: '2' });
  for (const state of [
    'receiving',
    'undoing',
    'succeeded',
    'completed_with_errors',
    'timed_out',
    'cancelled',
    'undone',
  ]) {
    await setImport(db.pool, await acceptImport(db.pool, entries(40)), { state: `'${state}'` });
  }
  // Its deadline has passed, but the table still says `running`.
  await setImport(db.pool, await acceptImport(db.pool, entries(80)), { deadline: 'clock_timestamp()' });
  assert.equal(await backlog(db.pool), 5 + 18);
});

it('the open imports are read alone, however many have ended', async () => {
  await db.pool.query(
    `insert into imports (kind, state, created_by, resource_owner, total, succeeded, deadline)
     select 'single', 'succeeded', 'a', 'org', 1, 1, now() from generate_series(1, 20000)`,
  );
  await db.pool.query('analyze imports');
  const config = { MAX_BACKLOG: 100_000, MAX_RUNNING_IMPORTS: 100 } as Config;
  const statements = await statementsOf((pool) =>
    requireRoom({ pool, config } as ImportDeps, { orgId: 'org' } as Caller),
  );
  assert.deepEqual(
    statements.map(({ name }) => name),
    ['backlog', 'running-imports'],
  );
  for (const { name, text, values } of statements) {
    const { rows } = await db.pool.query(`explain (analyze, format json) ${text}`, values);
    const scans = scansOf(rows[0]['QUERY PLAN'][0].Plan);
    assert.deepEqual(scans.map((scan) => scan['Index Name']).sort(), ['imports_open', 'imports_paused'], name);
  }
});

interface Statement {
  name: string;
  text: string;
  values?: unknown[];
}

/** The statements that `work` sends. */
async function statementsOf(work: (pool: Pool) => Promise<unknown>): Promise<Statement[]> {
  const sent: Statement[] = [];
  const query = (statement: Statement) => {
    sent.push(statement);
    return db.pool.query(statement);
  };
  await work({ query } as unknown as Pool);
  return sent;
}

interface PlanNode {
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: PlanNode[];
}

/** The steps of a plan that read the table `imports`. */
function scansOf(node: PlanNode): PlanNode[] {
  const below = (node.Plans ?? []).flatMap(scansOf);
  return node['Relation Name'] === 'imports' ? [node, ...below] : below;
}
