/** Muster's session settings apply on a server with other settings, and together with those in DATABASE_URL. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { chooseBackend } from '../../../src/imports/queue/backend.ts';
import { WRITER_SESSION } from '../../../src/imports/run/write-batch.ts';
import { ASSUMED } from '../../../src/platform/db/client.ts';
import { openPool, type PoolOptions, transaction } from '../../../src/platform/db/pool.ts';
import { AGAINST, opposed } from '../../support/stores/opposed.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

describe('a session', () => {
  let db: TestDatabase;

  before(async () => {
    db = await testDatabase({ name: 'session' });
    const name = new URL(db.url).pathname.slice(1);
    await db.pool.query(`alter database ${name} set jit = on`);
    await db.pool.query(`alter database ${name} set enable_nestloop = on`);
  });
  after(() => db.drop());

  async function shown(setting: string, pool = openPool(db.url)): Promise<string> {
    try {
      const { rows } = await pool.query(`select current_setting($1) as value`, [setting]);
      return rows[0].value;
    } finally {
      await pool.end();
    }
  }
  const withOptions = (options: string) => {
    const url = new URL(db.url);
    url.searchParams.set('options', options);
    return url.toString();
  };
  const writer = (url: string) => openPool(url, { settings: WRITER_SESSION });

  it('has JIT compilation off, though the database turns it on', async () => {
    assert.equal(await shown('jit'), 'off');
    assert.equal(await shown('jit', writer(db.url)), 'off');
  });

  it('of the batch writer plans for batches of any size', async () => {
    assert.equal(await shown('enable_nestloop', writer(db.url)), 'off');
    assert.equal(await shown('plan_cache_mode', writer(db.url)), 'force_generic_plan');
  });

  it('keeps its settings in addition to the options of DATABASE_URL', async () => {
    const url = withOptions('-c statement_timeout=123s');
    assert.equal(await shown('statement_timeout', writer(url)), '123s');
    assert.equal(await shown('enable_nestloop', writer(url)), 'off');
    assert.equal(await shown('jit', writer(url)), 'off');
  });

  it('lets DATABASE_URL override its settings', async () => {
    assert.equal(await shown('jit', openPool(withOptions('-c jit=on'))), 'on');
    assert.equal(await shown('enable_nestloop', writer(withOptions('-c enable_nestloop=on'))), 'on');
  });

  it('opens on a busy server, however short the limits of the role are', async () => {
    const against = await opposed(db, { statement_timeout: '1ms', lock_timeout: '1ms' });
    await transaction(db.pool, async (holder) => {
      await holder.query('lock table pg_catalog.pg_settings in access exclusive mode');
      const opening = shown('statement_timeout', openPool(against.url));
      opening.catch(() => {}); // is awaited below
      const blocked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and clock_timestamp() > query_start + interval '50 milliseconds'`;
      const isOver = () =>
        Promise.race([
          opening.then(
            () => true,
            () => true,
          ),
          setTimeout(20, false),
        ]);
      // Not by the holder: what a transaction sees of other sessions stays as it was when it first looked.
      await waitFor(async () => (await isOver()) || (await db.pool.query(blocked)).rowCount === 1, {
        what: 'the wait',
      });
      await holder.query('commit; begin');
      assert.equal(await opening, '30s');
    });
    await against.drop();
  });

  it('has what the code assumes, whatever database, role and DATABASE_URL say', async () => {
    const against = await opposed(db);
    // The limits of DATABASE_URL apply, also to the statements of this test.
    const assumed = Object.entries(AGAINST).filter(([name]) => !/^(?!idle_session).*_timeout$/.test(name));
    const options = assumed.map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`);
    const urls = [against.url, withOptions(options.join(' '))];
    for (const url of urls) {
      for (const isShared of [false, true]) {
        const pool = openPool(url, { max: 1, isShared });
        const names = Object.keys(ASSUMED).filter((name) => !isShared || name !== 'default_transaction_read_only');
        const { rows } = await pool.query('select name, setting from pg_settings where name = any($1)', [names]);
        for (const { name, setting } of rows) assert.equal(setting, ASSUMED[name], name);
        assert.ok(rows.length > 12);
        const { rows: of } = await pool.query(
          `select current_setting('transaction_isolation') as level, current_setting('transaction_read_only') as ro`,
        );
        assert.deepEqual(of[0], { level: 'read committed', ro: isShared ? 'on' : 'off' });
        await pool.end();
      }
    }
    await against.drop();
  });

  it("of the queue finds BullMQ's tables, whatever search_path DATABASE_URL sets", async () => {
    const queue = chooseBackend({ DATABASE_URL: withOptions('-c search_path=public'), QUEUE_PREFIX: 'q' });
    const pool = queue.producer(0, 'imports') as ReturnType<typeof openPool>;
    try {
      const { rows } = await pool.query(
        `select current_setting('search_path') as path, current_setting('synchronous_commit') as sync`,
      );
      assert.deepEqual(rows[0], { path: 'bullmq', sync: 'off' });
    } finally {
      await queue.disconnect(pool);
    }
  });
});

describe('the first message of a connection', () => {
  /** The parameters that PgBouncer accepts unless it is configured to ignore others. */
  const TAKEN = ['user', 'database', 'application_name', 'client_encoding'];

  async function startupParameters(options: PoolOptions): Promise<string[]> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const pool = openPool(`postgres://u@127.0.0.1:${(server.address() as AddressInfo).port}/d`, options);
    const refused = assert.rejects(pool.query('select 1'));
    const [socket] = await accepted;
    const [message] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    await refused;
    await pool.end();
    server.close();
    // Length and version, then names and values, each terminated by a zero.
    const words = message.subarray(8).toString().split('\0');
    return words.filter((word, n) => n % 2 === 0 && word !== '');
  }

  it('contains no parameter that a connection pooler rejects', async () => {
    for (const settings of [undefined, WRITER_SESSION, { search_path: 'bullmq' }]) {
      const unknown = (await startupParameters({ settings })).filter((name) => !TAKEN.includes(name));
      assert.deepEqual(unknown, []);
    }
  });
});
