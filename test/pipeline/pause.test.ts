/** `_pause` and `_retry` while workers run: no user after the answer, a stopped clock, and a second attempt. */
import assert from 'node:assert/strict';
import { bulk, people, unverified } from '../support/imports/bodies.ts';
import { beginHeld, holdImport, holdWriting, moreUsers, waitingBatches } from '../support/imports/hold.ts';
import { assertEachOnce, assertSums, usersOf } from '../support/imports/outcome.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { waiters } from '../support/stores/locks.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 300;

onEachBackend('a paused import', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0 });
  const slow = await service.startWorker({ WORKER_CONCURRENCY: '2' });
  const org = await service.newOrg();
  const { importId, gates } = await beginHeld(service, bulk(org.orgId, unverified('p', USERS)), [USERS / 2]);
  const act = (id: string, action: string, body: unknown = {}) =>
    service.call('POST', `/admin/v1/imports/${id}/${action}`, body);
  const idle = () => waitFor(async () => (await service.depth()) === 0, { what: 'the jobs to be dropped' });
  let written = 0;

  await t.test('gets no user after the answer, and its clock is stopped', async () => {
    await moreUsers(service.pool, importId);
    await waitingBatches(service.pool, 1);
    const { status, body } = await act(importId, '_pause');
    written = await usersOf(service.pool, importId);
    // The batch that was in progress finishes only now.
    for (const gate of gates) await gate.commit();
    assert.deepEqual([status, body.state], [200, 'IMPORT_STATE_PAUSED']);
    assert.ok(written > 0 && written <= USERS / 2, `${written} users`);
    assert.deepEqual([body.counts.succeeded, body.counts.pending], [written, USERS - written]);
    assertSums(body);
    slow.kill('SIGTERM');
    await slow.exited;
    await service.startWorker({ WORKER_CONCURRENCY: '50' });
    await idle();
    const later = (await act(importId, '_pause')).body;
    assert.deepEqual([later.state, later.counts.succeeded], ['IMPORT_STATE_PAUSED', written]);
    assert.ok(Date.parse(later.deadline) > Date.parse(body.deadline), 'the deadline moves forward with the clock');
    assert.equal(await usersOf(service.pool, importId), written);
  });

  await t.test('continues with exactly the rest, within the time that was left', async () => {
    await service.pool.query(
      `update imports set paused_at = paused_at - interval '1 hour', deadline = deadline - interval '1 hour' where id = $1`,
      [importId],
    );
    const { status, body } = await act(importId, '_resume');
    assert.deepEqual([status, body.state], [200, 'IMPORT_STATE_RUNNING']);
    assert.ok(Date.parse(body.deadline) > Date.now() + 60_000);
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
    assert.equal((await act(importId, '_pause')).body.code, 9);
  });

  await t.test('counts the batch that got the lock first, and lets no other through', async () => {
    const writing = await holdWriting(service.pool);
    const held = (await must(service.importBody(bulk(org.orgId, people('h', 200))))).body.importId;
    const release = await holdImport(service.pool, held);
    await writing.commit();
    await waitingBatches(service.pool, 1);
    const answer = act(held, '_pause');
    await waiters(service.pool, 1, 'muster-api');
    await release();
    const { status, body } = await answer;
    assert.deepEqual([status, body.state], [200, 'IMPORT_STATE_PAUSED']);
    const users = await usersOf(service.pool, held);
    assert.ok(users > 0 && users < 200, `${users} users`);
    assert.equal(body.counts.succeeded, users);
    await idle();
    assert.equal(await usersOf(service.pool, held), users);
  });

  await t.test('can be resumed and paused repeatedly without losing a user', async () => {
    const body = bulk(org.orgId, people('r', 800));
    const { importId: id, gates: last } = await beginHeld(service, body, [600]);
    for (let i = 0; i < 5; i++) {
      const { body: paused } = await must(act(id, '_pause'));
      assert.equal(paused.counts.succeeded, await usersOf(service.pool, id));
      await must(act(id, '_resume'));
    }
    for (const gate of last) await gate.commit();
    assert.equal((await service.waitForEnd(id)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, id, { users: 800 });
  });

  await t.test('that failed in part can be retried once the conflict is gone', async () => {
    const { importId: id } = (
      await must(service.importBody(bulk(org.orgId, [...people('r', 20), ...people('n', 3), null])))
    ).body;
    const failed = await service.waitForEnd(id);
    assert.deepEqual([failed.state, failed.counts.failed], ['IMPORT_STATE_COMPLETED_WITH_ERRORS', 21]);
    for (let i = 0; i < 20; i++) await must(service.call('DELETE', `/v2beta/users/id-r${i}`));
    const [first, second] = await Promise.all([act(id, '_retry'), act(id, '_retry')]);
    assert.deepEqual([first.status, second.status], [200, 200]);
    const done = await service.waitForEnd(id);
    assert.deepEqual(
      [done.state, done.counts.succeeded, done.counts.failed],
      ['IMPORT_STATE_COMPLETED_WITH_ERRORS', 23, 1],
    );
    await assertEachOnce(service, id, { users: 23 });
  });
});
