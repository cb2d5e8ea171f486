/** Statements, locks and connections that take too long end in time, and no broken connection is used again. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { allowLong, TimedClient } from '../../../src/platform/db/client.ts';
import { faultKind, isStoreFault, sqlState } from '../../../src/platform/db/faults.ts';
import { openPool, type Pool, transaction } from '../../../src/platform/db/pool.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { type SilentProxy, startSilentProxy } from '../../support/stores/silent-proxy.ts';

const MS = 3000;
/** A wait without end takes longer than any limit. */
const BOUNDED = { timeout: 60_000 };

describe('a pool with limits', () => {
  let db: TestDatabase;
  let proxy: SilentProxy;
  let pool: Pool;
  before(async () => {
    db = await testDatabase({ name: 'limits' });
  });
  beforeEach(async () => {
    proxy = await startSilentProxy(db.url);
    pool = openPool(proxy.url, { max: 1, name: 'limits-test', statementMs: MS });
  });
  afterEach(async () => {
    await pool.end();
    await proxy.stop();
  });
  after(() => db.drop());

  const pid = async () => (await pool.query('select pg_backend_pid() as pid')).rows[0].pid;

  it('ends a slow statement at the server, and reuses the connection', BOUNDED, async () => {
    const before = await pid();
    const fault = await pool.query('select pg_sleep(60)').catch((e) => e);
    assert.equal(sqlState(fault), '57014');
    assertPassing(fault);
    // pg-pool does not take a connection back after a failed query.
    const client = await pool.connect();
    const { pid: own } = (await client.query('select pg_backend_pid() as pid')).rows[0];
    await assert.rejects(client.query('select pg_sleep(60)'), { code: '57014' });
    client.release();
    assert.equal(await pid(), own);
    assert.notEqual(own, before);
  });

  it('ends the wait for a lock', BOUNDED, async () => {
    await transaction(db.pool, async (holder) => {
      await holder.query('lock table organizations');
      const fault = await pool.query('select from organizations').catch((e) => e);
      assert.equal(sqlState(fault), '55P03');
      assertPassing(fault);
    });
  });

  it('ends an idle transaction before others give up waiting for its locks', BOUNDED, async () => {
    const idle = await pool.connect();
    const ended = new Promise((resolve) => idle.once('end', resolve));
    await idle.query('begin');
    await idle.query('lock table organizations');
    const other = openPool(db.url, { max: 1, statementMs: MS * 10 });
    await other.query('select from organizations');
    await other.end();
    await ended;
    idle.release();
  });

  it('gives up on a silent server, and never reuses that connection', BOUNDED, async () => {
    const before = await pid();
    proxy.silence();
    const fault = await pool.query('select 1').catch((e) => e);
    assert.equal(fault.code, 'ETIMEDOUT');
    assertPassing(fault);
    assert.equal(pool.totalCount, 0);
    proxy.recover();
    assert.notEqual(await pid(), before);
  });

  it('gives up a whole transaction: its rollback does not wait either', BOUNDED, async () => {
    let rollback: Promise<unknown> | undefined;
    const work = transaction(pool, async (client) => {
      const query = client.query.bind(client) as (text: string) => Promise<unknown>;
      client.query = ((text: string) => {
        const result = query(text);
        if (text === 'rollback') rollback = result;
        return result;
      }) as typeof client.query;
      proxy.silence();
      await client.query('select 1');
    });
    await assert.rejects(work, { code: 'ETIMEDOUT' });
    await assert.rejects(rollback as Promise<unknown>, /not queryable/);
    assert.equal(pool.totalCount, 0);
  });

  it('gives up on a connection that is accepted but never answered', BOUNDED, async () => {
    proxy.silence();
    const client = new TimedClient({ connectionString: proxy.url, statementMs: MS });
    client.on('error', () => {});
    assertPassing(await client.connect().catch((e) => e));
  });

  it('allows one transaction to take longer, but no later one', BOUNDED, async () => {
    const own = await transaction(pool, async (client) => {
      await allowLong(client);
      // Longer than the client usually waits.
      const { rows } = await client.query('select pg_backend_pid() as pid, pg_sleep(5)');
      return rows[0].pid;
    });
    assert.equal(await pid(), own);
    await assert.rejects(pool.query('select pg_sleep(60)'), { code: '57014' });
    proxy.recover();
    await pid();
    proxy.silence();
    await assert.rejects(pool.query('select 1'), { code: 'ETIMEDOUT' });
  });
});

it('distinguishes SQLSTATE from socket error codes', () => {
  for (const code of ['EPIPE', 'ECONNRESET', 'ETIMEDOUT', 'EBUSY']) assert.equal(faultKind({ code }), 'retry', code);
  for (const code of ['23505', 'MU001', 'XX000', '0A000']) assert.equal(sqlState({ code }), code);
});

it('distinguishes transient errors from errors in the data and in the program', () => {
  const kinds = (faults: unknown[]) => [...new Set(faults.map(faultKind))];
  const codes = (...list: string[]) => list.map((code) => ({ code }));
  const hung = new Error('Connection terminated unexpectedly');
  assert.deepEqual(kinds([...codes('40001', '40P01', '57P01', '08006', '53300', 'CERT_HAS_EXPIRED'), hung]), ['retry']);
  assert.deepEqual(kinds([{ code: 'ENOENT', syscall: 'connect' }, new AggregateError([hung, hung])]), ['retry']);
  assert.deepEqual(kinds(codes('22P02', '23505', '54000')), ['data']);
  const ours = [new TypeError('x is undefined'), new Error('no writer'), 'a text', undefined, null];
  assert.deepEqual(kinds([...ours, ...codes('42703', 'P0001', 'XX000', 'ERR_INVALID_ARG_TYPE')]), ['other']);
  assert.deepEqual(kinds([{ code: 'ENOENT', syscall: 'open' }, new AggregateError([])]), ['other']);
});

it('knows every state that means the store', () => {
  const store = ['25006', '25P04', '28000', '28P01', '3D000', '42501', '55000', '57P05', '58030', 'F0000', 'XX001'];
  for (const code of store) assertPassing({ code });
  for (const code of ['23505', '22P02', '42601', '42P01', '25P02', 'XX000']) {
    assert.ok(!isStoreFault({ code }), code);
  }
});

/** Transient: retried where possible, otherwise answered with 503. */
function assertPassing(fault: unknown): void {
  assert.equal(faultKind(fault), 'retry', String(fault));
  assert.ok(isStoreFault(fault), String(fault));
}
