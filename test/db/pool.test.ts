import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openPool, type Pool, transaction } from '../../src/db/pool.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

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
