/** What hurts is seen where it is set: by a role, by the database, in DATABASE_URL, or by a pooler in front. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openPool, type Pool } from '../../src/db/pool.ts';
import { type ServerFacts, serverFacts } from '../../src/diagnostics/postgres-server.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';

describe('the settings of a server', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'postgres_server' });
  });
  after(() => db.drop());

  async function read(url = db.url, change: (pool: Pool) => Pool = (pool) => pool): Promise<ServerFacts> {
    const pool = openPool(url, { max: 2 });
    try {
      return await serverFacts(change(pool));
    } finally {
      await pool.end();
    }
  }

  it('of a server in good order', async () => {
    const { encoding, overridden, timeouts, autovacuum, sharedBuffersBytes, sharesSessions, maxWalBytes } =
      await read();
    assert.deepEqual([encoding, overridden, autovacuum, sharesSessions], ['UTF8', [], true, false]);
    assert.deepEqual(timeouts, { statement_timeout: 0, transaction_timeout: 0, idle_session_timeout: 0 });
    assert.ok(sharedBuffersBytes >= 2 ** 27 && maxWalBytes > 0);
  });

  it('of the database, as far as our sessions do not set them', async () => {
    const name = new URL(db.url).pathname.slice(1);
    await db.pool.query(`alter database ${name} set idle_session_timeout = '2s'`);
    await db.pool.query(`alter database ${name} set jit = on`);
    const { timeouts, overridden } = await read();
    assert.equal(timeouts.idle_session_timeout, 2000);
    assert.deepEqual(overridden, []);
  });

  it('of DATABASE_URL, which take precedence over those of our sessions', async () => {
    const url = new URL(db.url);
    url.searchParams.set('options', '-c jit=on -c enable_seqscan=on');
    assert.deepEqual((await read(url.toString())).overridden.sort(), ['enable_seqscan=on', 'jit=on']);
  });

  it('that a pooler by transaction does not keep', async () => {
    // All connections are one session, as they are when each is idle between its transactions.
    const shared = (pool: Pool): Pool => {
      const session = pool.connect();
      pool.once('remove', () => {});
      const query = async (...args: unknown[]) => ((await session).query as (...all: unknown[]) => unknown)(...args);
      void session.then((client) => setImmediate(() => client.release()));
      return { query, connect: async () => ({ query, release() {} }) } as unknown as Pool;
    };
    assert.equal((await read(db.url, shared)).sharesSessions, true);
  });
});
