import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { describeStatements } from '../../../src/imports/run/write-batch.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { describeSchema, describeTables, TYPES_OF_VALUES } from '../../../src/platform/db/print-schema.ts';
import { hold, waiters } from '../../support/stores/locks.ts';
import { firstMigration, withMigrations } from '../../support/stores/migrations.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

test('schema.sql is the result of the migrations', async () => {
  const { pool } = await testDatabase();
  const written = await readFile(new URL('../../../src/platform/db/schema.sql', import.meta.url), 'utf8');
  assert.equal(written, await describeSchema(pool), 'run `npm run schema` and commit its result');
});

test('tables.ts has the tables and columns of the migrations', async () => {
  const { pool } = await testDatabase();
  const written = await readFile(new URL('../../../src/platform/db/tables.ts', import.meta.url), 'utf8');
  assert.equal(written, await describeTables(pool), 'run `npm run schema` and commit its result');
});

test('pg returns values of the types that tables.ts says', async () => {
  const { pool } = await testDatabase();
  const samples: Record<string, string> = {
    bigint: '9007199254740993',
    boolean: 'true',
    bytea: '\\x00',
    date: '2026-01-01',
    inet: '::1',
    interval: '1 day',
    json: '[1]',
    jsonb: '[1]',
    text: 'a',
    'timestamp with time zone': '2026-01-01',
    uuid: '00000000-0000-0000-0000-000000000000',
  };
  for (const [type, expected] of Object.entries(TYPES_OF_VALUES)) {
    const { rows } = await pool.query(`select $1::text::${type} as value, array[$1::text::${type}] as list`, [
      samples[type] ?? '1',
    ]);
    const { value, list } = rows[0];
    const returned = { Date: value instanceof Date, Buffer: Buffer.isBuffer(value), unknown: Array.isArray(value) };
    assert.equal(returned[expected as keyof typeof returned] ?? typeof value === expected, true, type);
    assert.ok(['integer', 'text'].includes(type) ? typeof list[0] === expected : true, `${type}[]`);
  }
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
  await pool.query(`update migrations set checksum = 'other' where id = 150`);
  await assert.rejects(migrate(pool), /The migration 150_schema\.sql was edited.*Restore the file/);
});

test('a migration that waits for a long transaction does not keep others waiting as long', async (t) => {
  const { pool } = await testDatabase();
  const folder = await withMigrations(t, { '901_locking.sql': 'alter table leases add column note text;' });
  const long = await hold(pool, 'select from leases');
  const migrated = migrate(pool, folder);
  await waiters(pool, 1);
  // The statement waits behind the migration, which gives up first.
  await pool.query('select from leases');
  await long.commit();
  await migrated;
  assert.equal((await pool.query('select from migrations where id = 901')).rowCount, 1);
});

test('a migration that a deadlock ends begins again', async (t) => {
  const { pool } = await testDatabase();
  const sql = 'alter table leases add column note text; alter table mail_counts add column note text;';
  const folder = await withMigrations(t, { '901_locking.sql': sql });
  const other = await hold(pool, 'select from mail_counts');
  // The session of the migration notices the deadlock, and ends it.
  await other.db.query(`set local deadlock_timeout = '5min'`);
  const migrated = migrate(pool, folder);
  await waiters(pool, 1);
  await other.db.query('select from leases');
  await other.commit();
  await migrated;
  assert.equal((await pool.query('select from migrations where id = 901')).rowCount, 1);
});

const BEFORE = await readFile(new URL('./migrations-before-1.0.0.txt', import.meta.url), 'utf8');

/** Makes the database say that it was brought here by other migrations, each `<id> <checksum>`. */
async function pretend(pool: Pool, migrations: readonly string[]): Promise<void> {
  await pool.query('delete from migrations where id <= 150');
  await pool.query(
    `insert into migrations (id, checksum)
     select split_part(line, ' ', 1)::integer, split_part(line, ' ', 2) from unnest($1::text[]) as line`,
    [migrations],
  );
}

test('a database of the build before 1.0.0 is taken over without a change, and gets later migrations', async (t) => {
  const { pool } = await testDatabase();
  const first = await firstMigration(t);
  await pool.query('drop schema public cascade; create schema public');
  await migrate(pool, first);
  await pretend(pool, BEFORE.trim().split('\n'));
  const read = async () => (await pool.query('select * from migrations order by id')).rows;
  const [schema, rows] = [await describeSchema(pool), await read()];
  await migrate(pool, first);
  assert.equal(await describeSchema(pool), schema);
  assert.deepEqual(await read(), rows);
  await migrate(pool, await withMigrations(t, { '901_later.sql': 'create table later ();' }));
  assert.equal((await read()).at(-1).id, 901);
});

test('a database of an earlier build, or with an edited migration, is refused in one sentence', async () => {
  const { pool } = await testDatabase();
  const lines = BEFORE.trim().split('\n');
  const edited = lines.with(0, '1 other');
  for (const migrations of [lines.slice(0, -1), lines.toSpliced(3, 1), edited]) {
    await pretend(pool, migrations);
    await assert.rejects(migrate(pool), /^Error: The database has the schema of a build before 1\.0\.0/);
  }
  await pool.query('alter table migrations drop column checksum');
  await assert.rejects(migrate(pool), /cannot upgrade: upgrade it with the last build before 1\.0\.0 first\.$/);
});
