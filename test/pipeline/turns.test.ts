/** Imports take turns: a small one is done at once, however much a large one has before it. */
import assert from 'node:assert/strict';
import { bulk, people } from '../support/bodies.ts';
import { must, onBothBackends, startService } from '../support/service.ts';
import { waitFor } from '../support/wait.ts';

const BIG = 3000;

onBothBackends('a small import', async (t, backend) => {
  // Every job of the big one fits into the queue, and waits there before all that comes later.
  const env = { WORKER_CONCURRENCY: '4', DISPATCH_WINDOW: '4000' };
  const service = await startService(t, { backend, env });
  const [one, other] = [await service.newOrg(), await service.newOrg()];
  const progress = async (importId: string) => {
    const { rows } = await service.pool.query('select state, succeeded from imports where id = $1', [importId]);
    return rows[0] as { state: string; succeeded: number };
  };

  // Four users in 20 ms: the big one takes a quarter of a minute.
  await service.pool.query(`create function slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.02); return null; end $$`);
  await service.pool.query('create trigger slow after insert on users for each statement execute function slow()');
  const big = (await must(service.importBody(bulk(one.orgId, people('big', BIG))))).body.importId;
  await waitFor(async () => (await service.depth()) > BIG * 0.9, { what: 'the jobs of the big one' });

  await t.test('ends long before a big one that was there first', async () => {
    const started = performance.now();
    const { importId } = (await must(service.importBody(bulk(other.orgId, people('small', 10))))).body;
    await waitFor(async () => (await progress(importId)).state === 'succeeded', { what: 'the small import' });
    const { state, succeeded } = await progress(big);
    assert.equal(state, 'running');
    assert.ok(succeeded < BIG / 2, `${succeeded} of the big one in ${performance.now() - started} ms`);
  });

  await t.test('of a single user does, too', async () => {
    const path = '/management/v1/users/human/_import';
    const [{ user } = assert.fail()] = people('single', 1);
    assert.equal((await service.call('POST', path, user, { orgId: other.orgId })).status, 200);
    assert.equal((await progress(big)).state, 'running');
  });

  await t.test('takes nothing from the big one, which goes on to its end', async () => {
    await service.pool.query('drop trigger slow on users');
    const result = await service.waitForEnd(big);
    assert.deepEqual([result.state, result.counts.succeeded], ['IMPORT_STATE_SUCCEEDED', BIG]);
  });
});
