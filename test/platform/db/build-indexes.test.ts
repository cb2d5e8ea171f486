import assert from 'node:assert/strict';
import test from 'node:test';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { describeSchema } from '../../../src/platform/db/print-schema.ts';
import { hold } from '../../support/stores/locks.ts';
import { testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const INDEXES = 'delete from migrations where id in (42, 125); drop index users_listed, users_state';

test('two processes build missing indexes at once while users are written, and neither blocks the other', async () => {
  const { pool } = await testDatabase();
  const before = await describeSchema(pool);
  await pool.query(INDEXES);
  const writer = await hold(pool, 'lock table users in row exclusive mode');
  const migrated = Promise.all([migrate(pool), migrate(pool)]);
  await waitFor(async () => (await pool.query(BUILDING)).rowCount === 1, { what: 'the build' });
  // A statement that waited behind the build would time out.
  await pool.query(`set statement_timeout = 20000; update users set nick_name = 'x'; reset statement_timeout`);
  await writer.commit();
  await migrated;
  assert.equal(await describeSchema(pool), before);
  assert.equal((await pool.query('select from migrations where id in (42, 125) and checksum is not null')).rowCount, 2);
});

const BUILDING = `select from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and query like '%create index concurrently%' and wait_event_type = 'Lock'`;

test('an index that a crash left incomplete is built again', async () => {
  const { pool } = await testDatabase();
  await pool.query('delete from migrations where id = 125');
  await pool.query(`update pg_index set indisvalid = false where indexrelid = 'users_listed'::regclass`);
  const oid = async () => (await pool.query(`select 'users_listed'::regclass::oid as oid`)).rows[0].oid;
  const broken = await oid();
  await migrate(pool);
  assert.notEqual(await oid(), broken);
  const { rows } = await pool.query(`select indisvalid from pg_index where indexrelid = 'users_listed'::regclass`);
  assert.deepEqual(rows, [{ indisvalid: true }]);
});
