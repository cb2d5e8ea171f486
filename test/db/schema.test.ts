import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { describeSchema } from '../../src/db/describe-schema.ts';
import { migrate } from '../../src/db/migrate.ts';
import { testDatabase } from '../support/stores/postgres.ts';

test('schema.sql is what the migrations make', async () => {
  const { pool } = await testDatabase();
  const written = await readFile(new URL('../../src/db/schema.sql', import.meta.url), 'utf8');
  assert.equal(written, await describeSchema(pool), 'run `npm run schema` and commit its result');
});

test('migrating twice, and twice at once, changes nothing', async () => {
  const { pool } = await testDatabase();
  const before = await describeSchema(pool);
  await Promise.all([migrate(pool), migrate(pool)]);
  assert.equal(await describeSchema(pool), before);
});

test('a database that is newer than the program is refused', async () => {
  const { pool } = await testDatabase();
  await pool.query('insert into migrations (id) values (9999)');
  await assert.rejects(migrate(pool), /has migration 9999.*start the newer program/);
});
