import assert from 'node:assert/strict';
import test from 'node:test';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { hold } from '../../support/stores/locks.ts';
import { withMigrations } from '../../support/stores/migrations.ts';
import { testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const INDEXES = {
  '901_users_nick.sql': 'create index concurrently if not exists users_nick on users (nick_name);',
  '902_users_gender.sql': 'create index concurrently if not exists users_gender on users (gender);',
  '903_no_users_state.sql': 'drop index concurrently if exists users_state;',
};

test('two processes build missing indexes at once while users are written, and neither blocks the other', async (t) => {
  const { pool } = await testDatabase();
  const folder = await withMigrations(t, INDEXES);
  const writer = await hold(pool, 'lock table users in row exclusive mode');
  const migrated = Promise.all([migrate(pool, folder), migrate(pool, folder)]);
  await waitFor(async () => (await pool.query(BUILDING)).rowCount === 1, { what: 'the build' });
  // A statement that waited behind the build would time out.
  await pool.query(`set statement_timeout = 20000; update users set nick_name = 'x'; reset statement_timeout`);
  await writer.commit();
  await migrated;
  const { rows } = await pool.query(`select indexname as name from pg_indexes
    where indexname in ('users_nick', 'users_gender', 'users_state') order by name`);
  assert.deepEqual(rows, [{ name: 'users_gender' }, { name: 'users_nick' }]);
  assert.equal((await pool.query('select from migrations where id > 900 and checksum is not null')).rowCount, 3);
});

const BUILDING = `select from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and query like '%create index concurrently%' and wait_event_type = 'Lock'`;

test('an index that a crash left incomplete is built again', async (t) => {
  const { pool } = await testDatabase();
  const text = 'create index concurrently if not exists users_listed on users (nick_name);';
  const folder = await withMigrations(t, { '901_users_listed.sql': text });
  await pool.query(`update pg_index set indisvalid = false where indexrelid = 'users_listed'::regclass`);
  const oid = async () => (await pool.query(`select 'users_listed'::regclass::oid as oid`)).rows[0].oid;
  const broken = await oid();
  await migrate(pool, folder);
  assert.notEqual(await oid(), broken);
  const { rows } = await pool.query(`select indisvalid from pg_index where indexrelid = 'users_listed'::regclass`);
  assert.deepEqual(rows, [{ indisvalid: true }]);
});
