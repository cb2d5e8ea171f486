/** A real streaming replica; `pg_wal_replay_pause` holds it back. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { openPool, type Pool, transaction } from '../../../src/platform/db/pool.ts';
import { openReads } from '../../../src/platform/db/replica.ts';
import { ApiError } from '../../../src/platform/errors.ts';
import { startApi } from '../../support/api.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { startDistributionServer, startReplica } from '../../support/stores/distribution.ts';
import { waitFor } from '../../support/wait.ts';

/** Rounds that the replica answers; it need not answer all on a slow machine. */
const ROUNDS = 20;

test('reads run on a replica, and never miss a change that was answered before', async (t) => {
  if (!requireOrSkip(t, 'postgres')) return;
  const primary = await startDistributionServer();
  t.after(() => primary.stop());
  const replica = await startReplica(primary);
  t.after(() => replica.stop());
  const [pool, direct] = [openPool(primary.url, { max: 4 }), openPool(replica.url, { max: 1 })];
  t.after(() => Promise.all([pool.end(), direct.end()]));
  const reads = openReads(pool, replica.url);
  t.after(() => reads.close());
  await pool.query('create table counter as select 0 as n');

  const increment = async () =>
    (await pool.query<{ n: number }>('update counter set n = n + 1 returning n')).rows[0]?.n;
  const read = () => reads.run(async (db) => (await db.query<Counter>(COUNTER)).rows[0] as Counter);
  const readsReplica = () => waitFor(async () => (await read()).replica, { what: 'a read on the replica' });

  await t.test('a read sees the change before it', async () => {
    await readsReplica();
    for (let onReplica = 0; onReplica < ROUNDS; ) {
      const n = await increment();
      const seen = await read();
      assert.equal(seen.n, n);
      if (seen.replica) onReplica++;
    }
  });

  await t.test('while the replica replays nothing, the primary answers', async () => {
    await direct.query('select pg_wal_replay_pause()');
    const n = await increment();
    assert.deepEqual(await read(), { n, replica: false });
    assert.notEqual((await direct.query('select n from counter')).rows[0].n, n);
    await direct.query('select pg_wal_replay_resume()');
    await readsReplica();
    assert.equal((await read()).n, n);
  });

  await t.test('a read that has to write runs on the primary, and the next one on the replica', async () => {
    await readsReplica();
    await reads.run((one) => transaction(one, (db) => db.query('update counter set n = n + 1')));
    assert.equal((await read()).n, (await pool.query('select n from counter')).rows[0].n);
    await readsReplica();
  });

  await t.test('an error for the caller is passed on', async () => {
    await readsReplica();
    let runs = 0;
    const refused = reads.run(async () => {
      runs++;
      throw new ApiError('NOT_FOUND', 'USER-NOT-FOUND', 'There is none.');
    });
    await assert.rejects(refused, /There is none/);
    assert.equal(runs, 1);
  });

  await t.test('the session has the settings of the other pools', async () => {
    const settings = { 'muster.rp_id': 'auth.example.com' };
    const set = openReads(pool, replica.url, { settings });
    const text = `select pg_is_in_recovery() as replica, current_setting('muster.rp_id', true) as "rpId"`;
    const row = () => set.run(async (db) => (await db.query(text)).rows[0]);
    const onReplica = async () => [await row()].find((one) => one.replica);
    assert.equal((await waitFor(onReplica, { what: 'a read on the replica' })).rpId, 'auth.example.com');
    await set.close();
  });

  await t.test('a promoted replica is none', async () => {
    await direct.query('select pg_promote()');
    const n = await increment();
    assert.deepEqual(await read(), { n, replica: false });
  });

  await t.test('without the replica, the primary answers', async () => {
    const alone = openReads(pool, 'postgres://nobody@127.0.0.1:1/muster');
    const onPrimary = (db: Pool) => db.query('select 1');
    assert.equal((await alone.run(onPrimary)).rowCount, 1);
    await alone.close();
  });
});

test('the search of users, and the list, the status and the items of imports are such reads', async () => {
  const api = await startApi();
  const { orgId } = await api.setupOrg();
  const answer = await api.call('POST', '/admin/v1/import', bulk(orgId, [{ userId: 'a' }]));
  const { run } = api.deps.reads;
  let runs = 0;
  api.deps.reads.run = (read) => {
    runs++;
    return run(read);
  };
  const path = `/admin/v1/imports/${answer.body.importId}`;
  const calls = [
    ['POST', '/v2beta/users'],
    ['POST', '/management/v1/users/_search'],
    ['GET', '/admin/v1/imports'],
  ] as const;
  for (const [method, to] of [...calls, ['GET', path], ['GET', `${path}/items`]] as const) {
    const { status } = await api.call(method, to, method === 'POST' ? {} : undefined, { orgId });
    assert.equal(status, 200, to);
  }
  await api.stop();
  // The items of an import are read after the import itself.
  assert.equal(runs, calls.length + 3);
});

interface Counter {
  n: number;
  /** Whether a replica answered. */
  replica: boolean;
}
const COUNTER = 'select n, pg_is_in_recovery() as replica from counter';
