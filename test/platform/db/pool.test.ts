import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openPool, type Pool, prepared, transaction } from '../../../src/platform/db/pool.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

describe('a pool', () => {
  let db: TestDatabase;
  let pool: Pool;

  before(async () => {
    db = await testDatabase({ name: 'pool' });
    pool = openPool(db.url, { max: 2, name: 'pool-test' });
  });
  after(async () => {
    await pool.end();
    await db.drop();
  });

  it('prepares a text once for a connection, under a name that PostgreSQL does not shorten', async () => {
    const texts = ['select $1::int as n', 'select $1::int + 1 as n'] as const;
    const found = await transaction(pool, async (client) => {
      const values: number[] = [];
      for (const text of [...texts, ...texts]) values.push((await client.query(prepared(text, [5]))).rows[0].n);
      const { rows } = await client.query('select name, statement from pg_prepared_statements order by statement');
      return { values, names: rows.map(({ name }) => name), statements: rows.map(({ statement }) => statement) };
    });
    assert.deepEqual(found.values, [5, 6, 5, 6]);
    assert.deepEqual(found.statements, [texts[1], texts[0]]);
    assert.deepEqual(found.names, [prepared(texts[1], []).name, prepared(texts[0], []).name]);
  });

  it('survives a connection that breaks during a transaction: the work fails, the process does not', {
    timeout: 10_000,
  }, async () => {
    // Without a listener, the connection's error would be an uncaught exception and fail this test.
    const broken = transaction(pool, async (client) => {
      const gone = new Promise((resolve) => client.once('end', resolve));
      await db.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pool-test'`,
      );
      await gone;
      await client.query('select 1');
    });
    await assert.rejects(broken);
    await waitFor(async () => (await pool.query('select 1')).rowCount, { what: 'a new connection' });
    assert.equal(pool.totalCount, 1);
  });
});
