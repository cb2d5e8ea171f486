/** `_cancel` and `_resume`: no user after the answer, and exactly the rest when it goes on. */
import assert from 'node:assert/strict';
import { bulk, people, unverified } from '../support/bodies.ts';
import { holdImport, waitingBatches } from '../support/hold.ts';
import { assertEachOnce, assertSums, usersOf } from '../support/outcome.ts';
import { must, onBothBackends, startService } from '../support/service.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 500;

onBothBackends('a cancelled import', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0 });
  const slow = await service.startWorker({ WORKER_CONCURRENCY: '2' });
  const org = await service.newOrg();
  const { importId } = (await must(service.importBody(bulk(org.orgId, unverified('c', USERS))))).body;
  const act = (action: string, body?: unknown) => service.call('POST', `/admin/v1/imports/${importId}/${action}`, body);
  let written = 0;

  await t.test('gets no user after the cancel was answered', async () => {
    await waitFor(async () => (await usersOf(service.pool, importId)) > 0, { what: 'the first users' });
    const { status, body } = await act('_cancel');
    written = await usersOf(service.pool, importId);
    assert.equal(status, 200);
    assert.equal(body.state, 'IMPORT_STATE_CANCELLED');
    assertSums(body);
    assert.ok(written < USERS);
    assert.deepEqual(
      [body.counts.succeeded, body.counts.cancelled, body.counts.pending],
      [written, USERS - written, 0],
    );
    const { items } = (await service.call('GET', `/admin/v1/imports/${importId}/items?state=ITEM_STATE_CANCELLED`))
      .body;
    assert.equal(items.length, Math.min(100, USERS - written));
    slow.kill('SIGTERM');
    await slow.exited;
    await service.startWorker();
    await waitFor(async () => (await service.depth()) === 0, { what: 'the jobs to be dropped', timeoutMs: 60_000 });
    assert.equal(await usersOf(service.pool, importId), written);
  });

  await t.test('is cancelled twice as once', async () => {
    const events = `select count(*)::int as n from events where type = 'import.cancelled' and aggregate_id = $1`;
    const { status, body } = await act('_cancel');
    assert.deepEqual([status, body.state, body.counts.succeeded], [200, 'IMPORT_STATE_CANCELLED', written]);
    assert.equal((await service.pool.query(events, [importId])).rows[0].n, 1);
  });

  await t.test('goes on with exactly the rest', async () => {
    const { status, body } = await act('_resume', {});
    assert.deepEqual([status, body.state], [200, 'IMPORT_STATE_RUNNING']);
    assertSums(body);
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
  });

  await t.test('is neither cancelled nor resumed once it has ended', async () => {
    for (const action of ['_cancel', '_resume']) {
      const { status, body } = await act(action, {});
      assert.deepEqual([status, body.code], [400, 9], action);
    }
  });

  await t.test('wins or loses against a batch under way, never both', async () => {
    const held = (await must(service.importBody(bulk(org.orgId, people('h', 200))))).body;
    const release = await holdImport(service.pool, held.importId);
    const [, cancel] = await Promise.all([
      waitingBatches(service.pool, 1).then(release),
      service.call('POST', `/admin/v1/imports/${held.importId}/_cancel`),
    ]);
    const users = await usersOf(service.pool, held.importId);
    if (cancel.status === 200) {
      assertSums(cancel.body);
      assert.equal(cancel.body.state, 'IMPORT_STATE_CANCELLED');
      assert.equal(cancel.body.counts.succeeded, users);
    } else {
      assert.deepEqual([cancel.body.code, users], [9, 200]);
    }
    await waitFor(async () => (await service.depth()) === 0, { what: 'the jobs to be dropped', timeoutMs: 60_000 });
    assert.equal(await usersOf(service.pool, held.importId), users);
  });
});
