import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { backlog } from '../../../src/imports/intake/requirements.ts';
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

it('the backlog is read from the open imports alone, however many have ended', async () => {
  await db.pool.query(
    `insert into imports (kind, state, created_by, resource_owner, total, succeeded, deadline)
     select 'single', 'succeeded', 'a', 'org', 1, 1, now() from generate_series(1, 20000)`,
  );
  await db.pool.query('analyze imports');
  const { rows } = await db.pool.query(`explain (analyze, format json) select from imports where state = 'paused'`);
  assert.match(JSON.stringify(rows[0]), /imports_paused/);
  const { rows: running } = await db.pool.query(
    `explain (analyze, format json) select from imports where state = 'running'`,
  );
  assert.match(JSON.stringify(running[0]), /imports_open/);
});
