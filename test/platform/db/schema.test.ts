import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { describeStatements } from '../../../src/imports/run/print-statements.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { describeSchema } from '../../../src/platform/db/print-schema.ts';
import { hold, waiters } from '../../support/stores/locks.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

test('schema.sql is the result of the migrations', async () => {
  const { pool } = await testDatabase();
  const written = await readFile(new URL('../../../src/platform/db/schema.sql', import.meta.url), 'utf8');
  assert.equal(written, await describeSchema(pool), 'run `npm run schema` and commit its result');
});

test('batch-statements.sql is what the batch writer sends', async () => {
  const written = await readFile(new URL('../../../src/imports/run/batch-statements.sql', import.meta.url), 'utf8');
  assert.equal(written, describeStatements(), 'run `npm run schema` and commit its result');
});

test('migrating twice, and twice at once, changes nothing', async () => {
  const { pool } = await testDatabase();
  const before = await describeSchema(pool);
  await Promise.all([migrate(pool), migrate(pool)]);
  assert.equal(await describeSchema(pool), before);
});

test('a database that is newer than the program is rejected', async () => {
  const { pool } = await testDatabase();
  await pool.query('insert into migrations (id) values (9999)');
  await assert.rejects(migrate(pool), /has migration 9999.*start the newer program/);
});

test('a migration that was edited after it was applied is refused, by the name of its file', async () => {
  const { pool } = await testDatabase();
  const { rows } = await pool.query('select id, checksum from migrations order by id');
  assert.ok(rows.every(({ checksum }) => /^[0-9a-f]{64}$/.test(checksum)));
  await pool.query(`update migrations set checksum = 'other' where id = 13`);
  await assert.rejects(migrate(pool), /The migration 013_items_room\.sql was edited.*Restore the file/);
});

test('a migration that waits for a long transaction does not keep others waiting as long', async () => {
  const { pool } = await testDatabase();
  await pool.query('delete from migrations where id = 16; alter table migrations drop column checksum');
  const long = await hold(pool, 'select from migrations');
  const migrated = migrate(pool);
  await waiters(pool, 1);
  // It waits behind the migration, which gives up first.
  await pool.query('select from migrations');
  await long.commit();
  await migrated;
  assert.equal((await pool.query('select from migrations where id = 16')).rowCount, 1);
});

test('a database without checksums, of an earlier version, gets them', async () => {
  const { pool } = await testDatabase();
  const before = await pool.query('select id, checksum from migrations order by id');
  await pool.query('update migrations set checksum = null where id < 16');
  await migrate(pool);
  assert.deepEqual((await pool.query('select id, checksum from migrations order by id')).rows, before.rows);
  await pool.query('delete from migrations where id = 16; alter table migrations drop column checksum');
  await migrate(pool);
  assert.deepEqual((await pool.query('select id, checksum from migrations order by id')).rows, before.rows);
});
