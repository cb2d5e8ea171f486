/**
 * Workers that are killed, frozen or told to stop in mid-drain: every user is written once, whichever worker does it.
 *
 * The test locks items, so that a worker holds a batch when the signal comes, and cannot finish it earlier.
 */
import assert from 'node:assert/strict';
import { bulk, people, unverified } from '../support/imports/bodies.ts';
import { beginHeld, holdWriting, moreUsers, waitingBatches } from '../support/imports/hold.ts';
import { jobsInProgress } from '../support/imports/in-progress.ts';
import { assertEachOnce, mailsByAddress, usersOf } from '../support/imports/outcome.ts';
import type { TestProcess } from '../support/processes/child.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 400;
const FAST_RESCUE = { JOB_LOCK_MS: '3000', RESCUE_AFTER_MS: '1000' };
const IMPORT_ONLY = { WORKER_ROLES: 'import' };

onEachBackend('a worker', async (t, backend) => {
  const service = await startService(t, { ownProcesses: true, backend, workers: 0, env: FAST_RESCUE });
  // Does everything but writing users. A mail job whose lock expires sends twice, which is not under test here.
  await service.startWorker({ WORKER_ROLES: 'dispatch,rescue,mail', JOB_LOCK_MS: '60000' });
  const { orgId } = await service.newOrg();
  const { pool } = service;

  /** An import whose worker has written some users and holds a batch that waits for the gate. */
  async function midBatch(entries: unknown[], concurrency: number) {
    const { importId, gates } = await beginHeld(service, bulk(orgId, entries), [entries.length / 2]);
    const worker = await service.startWorker({ ...IMPORT_ONLY, WORKER_CONCURRENCY: String(concurrency) });
    await moreUsers(pool, importId);
    const pids = await waitingBatches(pool, 1);
    const [gate = assert.fail()] = gates;
    return { importId, worker, pids, gate };
  }

  for (const [what, afterKill] of [
    ['whose statement still goes through', async () => {}],
    [
      'whose statement dies with it',
      async (pids: number[]) => {
        await pool.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [pids]);
      },
    ],
  ] as const) {
    await t.test(`that is killed in mid-batch, ${what}, duplicates and loses nothing`, async () => {
      service.smtp.mails.length = 0;
      const { importId, worker, pids, gate } = await midBatch(unverified(what.replaceAll(' ', ''), USERS), 40);
      worker.kill('SIGKILL');
      await worker.exited;
      await afterKill(pids);
      await gate.commit();
      const successor = await service.startWorker(IMPORT_ONLY);
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users: USERS, mails: USERS });
      const mails = mailsByAddress(service);
      assert.deepEqual([mails.size, new Set(mails.values())], [USERS, new Set([1])]);
      await end(successor);
    });
  }

  await t.test(
    'that is frozen until its job locks expire is replaced, and duplicates nothing when it wakes up',
    async () => {
      service.smtp.mails.length = 0;
      const { importId, worker: zombie, gate } = await midBatch(unverified('z', USERS), 60);
      zombie.kill('SIGSTOP');
      await gate.commit();
      const other = await service.startWorker(IMPORT_ONLY);
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users: USERS, mails: USERS });

      await end(other);
      zombie.kill('SIGCONT');
      // No other worker is running.
      const next = (await must(service.importBody(bulk(orgId, unverified('y', 50))))).body;
      assert.equal((await service.waitForEnd(next.importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await waitFor(async () => (await service.depth()) === 0, { what: 'the queue to be empty' });
      await assertEachOnce(service, next.importId, { users: 50, mails: 50 });
      await assertEachOnce(service, importId, { users: USERS, mails: USERS });
      const mails = mailsByAddress(service);
      assert.deepEqual([mails.size, new Set(mails.values())], [USERS + 50, new Set([1])]);
      await end(zombie);
    },
  );

  await t.test('that is frozen writes nothing of an import that was cancelled meanwhile', async () => {
    const { importId, worker: zombie, gate } = await midBatch(people('x', USERS), 60);
    zombie.kill('SIGSTOP');
    const cancelled = (await must(service.call('POST', `/admin/v1/imports/${importId}/_cancel`))).body;
    const written = await usersOf(pool, importId);
    assert.ok(written > 0 && written <= USERS / 2, `${written} users`);
    assert.equal(cancelled.counts.succeeded, written);
    // Now its statement can finish, and the statements it had not sent yet follow when it wakes up.
    await gate.commit();
    zombie.kill('SIGCONT');
    await waitFor(async () => (await service.depth()) === 0, { what: 'its jobs to be dropped' });
    assert.equal(await usersOf(pool, importId), written);
    await end(zombie);
  });

  await t.test('that is told to stop finishes what it holds and ends with 0; the next one does the rest', async () => {
    const { importId, worker, gate } = await midBatch(people('t', USERS), 3);
    const before = await usersOf(pool, importId);
    worker.kill('SIGTERM');
    await waitFor(() => worker.output().includes('worker stops'), { what: 'the signal to arrive' });
    await gate.commit();
    assert.deepEqual(await worker.exited, { code: 0, signal: null });
    const written = await usersOf(pool, importId);
    assert.ok(written > before && written < USERS, `${written} users, ${before} before`);
    assert.equal(await jobsInProgress(service), 0, 'every job it took is done');
    const { body } = await service.call('GET', `/admin/v1/imports/${importId}`);
    assert.deepEqual([body.state, body.counts.succeeded], ['IMPORT_STATE_RUNNING', written]);
    await end(await service.startWorker(IMPORT_ONLY), async () => {
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users: USERS });
    });
  });

  await t.test('that is told to stop hands back the passwords that it has not begun to hash', async () => {
    const writing = await holdWriting(pool);
    const entries = people('p', 12, { password: 'a plain one', hashedPassword: undefined });
    const { importId } = (await must(service.importBody(bulk(orgId, entries)))).body;
    const worker = await service.startWorker(IMPORT_ONLY);
    await waitingBatches(pool, 1);
    worker.kill('SIGTERM');
    await waitFor(() => worker.output().includes('worker stops'), { what: 'the signal to arrive' });
    await writing.commit();
    assert.deepEqual(await worker.exited, { code: 0, signal: null });
    assert.equal(await usersOf(pool, importId), 0);
    assert.equal(await jobsInProgress(service), 0, 'no job waits for a lock to expire');
    await end(await service.startWorker(IMPORT_ONLY), async () => {
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users: 12 });
    });
  });
});

/** Stops the worker after `use`, so that the next test's worker is alone. */
async function end(worker: TestProcess, use = async () => {}): Promise<void> {
  await use();
  worker.kill('SIGTERM');
  await worker.exited;
}
