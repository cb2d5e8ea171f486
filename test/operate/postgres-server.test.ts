/** Harmful settings are found wherever they are set: by a role, the database, DATABASE_URL or a pooler. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ServerFacts } from '../../src/contract/diagnostics.ts';
import { serverFacts } from '../../src/operate/diagnostics.ts';
import { openPool, type Pool } from '../../src/platform/db/pool.ts';
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

  it('of a server with good settings', async () => {
    const { encoding, overridden, timeouts, autovacuum, sharedBuffersBytes, sharesSessions, maxWalBytes } =
      await read();
    assert.deepEqual([encoding, overridden, autovacuum, sharesSessions], ['UTF8', [], true, false]);
    assert.deepEqual(timeouts, { statement_timeout: 0, transaction_timeout: 0, idle_session_timeout: 0 });
    assert.ok(sharedBuffersBytes >= 2 ** 27 && maxWalBytes > 0);
  });

  it('of its sessions, whatever the database sets', async () => {
    const name = new URL(db.url).pathname.slice(1);
    await db.pool.query(`alter database ${name} set idle_session_timeout = '2s'`);
    await db.pool.query(`alter database ${name} set jit = on`);
    const { timeouts, overridden } = await read();
    assert.equal(timeouts.idle_session_timeout, 0);
    assert.deepEqual(overridden, []);
  });

  it('of DATABASE_URL, which override those of the service', async () => {
    const url = new URL(db.url);
    url.searchParams.set('options', '-c jit=on -c enable_seqscan=on');
    assert.deepEqual((await read(url.toString())).overridden.sort(), ['enable_seqscan=on', 'jit=on']);
  });

  it('that a pooler with transaction pooling does not keep', async () => {
    // All connections share one session, as they do when each is idle between its transactions.
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
