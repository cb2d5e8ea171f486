/** `_cancel` and `_resume`: no user after the answer, and exactly the rest after a resume. */
import assert from 'node:assert/strict';
import type { Answer } from '../support/answers.ts';
import { bulk, people, unverified } from '../support/imports/bodies.ts';
import { beginHeld, holdImport, holdWriting, moreUsers, waitingBatches } from '../support/imports/hold.ts';
import { assertEachOnce, assertSums, usersOf } from '../support/imports/outcome.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { waiters } from '../support/stores/locks.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 500;

onEachBackend('a cancelled import', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0 });
  const slow = await service.startWorker({ WORKER_CONCURRENCY: '2' });
  const org = await service.newOrg();
  const { importId, gates } = await beginHeld(service, bulk(org.orgId, unverified('c', USERS)), [USERS / 2]);
  const act = (action: string, body?: unknown) => service.call('POST', `/admin/v1/imports/${importId}/${action}`, body);
  let written = 0;

  await t.test('gets no user after the cancel was answered', async () => {
    await moreUsers(service.pool, importId);
    await waitingBatches(service.pool, 1);
    const { status, body } = await act('_cancel');
    written = await usersOf(service.pool, importId);
    // The batch that was in progress finishes only now.
    for (const gate of gates) await gate.commit();
    assert.equal(status, 200);
    assert.equal(body.state, 'IMPORT_STATE_CANCELLED');
    assertSums(body);
    assert.ok(written > 0 && written <= USERS / 2, `${written} users`);
    assert.deepEqual(
      [body.counts.succeeded, body.counts.cancelled, body.counts.pending],
      [written, USERS - written, 0],
    );
    const { items } = (await service.call('GET', `/admin/v1/imports/${importId}/items?state=ITEM_STATE_CANCELLED`))
      .body;
    assert.equal(items.length, Math.min(100, USERS - written));
    slow.kill('SIGTERM');
    await slow.exited;
    await service.startWorker({ WORKER_CONCURRENCY: '50' });
    await waitFor(async () => (await service.depth()) === 0, { what: 'the jobs to be dropped' });
    assert.equal(await usersOf(service.pool, importId), written);
  });

  await t.test('can be cancelled twice without further effect', async () => {
    const events = `select count(*)::int as n from events where type = 'import.cancelled' and aggregate_id = $1`;
    const { status, body } = await act('_cancel');
    assert.deepEqual([status, body.state, body.counts.succeeded], [200, 'IMPORT_STATE_CANCELLED', written]);
    assert.equal((await service.pool.query(events, [importId])).rows[0].n, 1);
  });

  await t.test('continues with exactly the rest', async () => {
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

  for (const first of ['a batch', 'the cancel'] as const) {
    await t.test(`counts what was written before it when ${first} gets the lock first`, async () => {
      const writing = await holdWriting(service.pool);
      // With one user there is one batch: a second one could take the row in the moment in which it is released.
      const users = people(first.replace(' ', ''), first === 'a batch' ? 200 : 1);
      const held = (await must(service.importBody(bulk(org.orgId, users)))).body.importId;
      const release = await holdImport(service.pool, held);
      const cancel = () => service.call('POST', `/admin/v1/imports/${held}/_cancel`);
      // The first to wait for the import's row gets its lock first.
      let answer: Promise<Answer>;
      if (first === 'a batch') {
        await writing.commit();
        await waitingBatches(service.pool, 1);
        answer = cancel();
        await waiters(service.pool, 1, 'muster-api');
      } else {
        answer = cancel();
        await waiters(service.pool, 1, 'muster-api');
        await writing.commit();
        await waitingBatches(service.pool, 1);
      }
      await release();
      const { status, body } = await answer;
      assert.deepEqual([status, body.state], [200, 'IMPORT_STATE_CANCELLED']);
      assertSums(body);
      const written = await usersOf(service.pool, held);
      assert.equal(body.counts.succeeded, written);
      assert.equal(written > 0, first === 'a batch', `${written} users`);
      await waitFor(async () => (await service.depth()) === 0, { what: 'the jobs to be dropped' });
      assert.equal(await usersOf(service.pool, held), written);
    });
  }
});
