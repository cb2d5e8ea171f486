/** Workers that are killed, frozen or told to stop in mid-drain: every user is written once, whoever does it. */
import assert from 'node:assert/strict';
import { bulk, people, unverified } from '../support/bodies.ts';
import type { TestProcess } from '../support/child.ts';
import { holdImport, waitingBatches } from '../support/hold.ts';
import { assertEachOnce, mailsByAddress, usersOf } from '../support/outcome.ts';
import { must, onBothBackends, startService } from '../support/service.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 400;
const FAST_RESCUE = { JOB_LOCK_MS: '1000', RESCUE_AFTER_MS: '1000' };
const IMPORT_ONLY = { WORKER_ROLES: 'import' };

onBothBackends('a worker', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0, env: FAST_RESCUE });
  // Does everything but writing users.
  await service.startWorker({ WORKER_ROLES: 'dispatch,rescue,mail' });
  const { orgId } = await service.newOrg();

  for (const [what, afterKill] of [
    ['whose statement still goes through', async () => {}],
    [
      'whose statement dies with it',
      async (pids: number[]) => {
        await service.pool.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [pids]);
      },
    ],
  ] as const) {
    await t.test(`that is killed in mid-batch, ${what}, doubles and loses nothing`, async () => {
      service.smtp.mails.length = 0;
      const prefix = what.replaceAll(' ', '');
      const victim = await service.startWorker({ ...IMPORT_ONLY, WORKER_CONCURRENCY: '40' });
      const { importId } = (await must(service.importBody(bulk(orgId, unverified(prefix, USERS))))).body;
      await waitFor(async () => (await usersOf(service.pool, importId)) > 0, { what: 'the first users' });
      const release = await holdImport(service.pool, importId);
      const pids = await waitingBatches(service.pool, 1);
      victim.kill('SIGKILL');
      await victim.exited;
      await afterKill(pids);
      await release();
      assert.ok((await usersOf(service.pool, importId)) < USERS);
      const successor = await service.startWorker(IMPORT_ONLY);
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users: USERS, mails: USERS });
      const mails = mailsByAddress(service);
      assert.deepEqual([mails.size, new Set(mails.values())], [USERS, new Set([1])]);
      await end(successor);
    });
  }

  await t.test('that is frozen past its job lock is replaced, and doubles nothing when it wakes up', async () => {
    service.smtp.mails.length = 0;
    const zombie = await service.startWorker({ ...IMPORT_ONLY, WORKER_CONCURRENCY: '60' });
    const { importId } = (await must(service.importBody(bulk(orgId, unverified('z', USERS))))).body;
    await waitFor(async () => (await usersOf(service.pool, importId)) > 0, { what: 'the first users' });
    const release = await holdImport(service.pool, importId);
    await waitingBatches(service.pool, 1);
    zombie.kill('SIGSTOP');
    await release();
    assert.ok((await usersOf(service.pool, importId)) < USERS);
    const other = await service.startWorker(IMPORT_ONLY);
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });

    await end(other);
    zombie.kill('SIGCONT');
    // Nobody else is there to do it.
    const next = (await must(service.importBody(bulk(orgId, unverified('y', 50))))).body;
    assert.equal((await service.waitForEnd(next.importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await waitFor(async () => (await service.depth()) === 0, { what: 'the queue to be empty' });
    await assertEachOnce(service, next.importId, { users: 50, mails: 50 });
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
    const mails = mailsByAddress(service);
    assert.deepEqual([mails.size, new Set(mails.values())], [USERS + 50, new Set([1])]);
    await end(zombie);
  });

  await t.test('that is frozen writes nothing that was cancelled meanwhile', async () => {
    const zombie = await service.startWorker({ ...IMPORT_ONLY, WORKER_CONCURRENCY: '60' });
    const { body } = await must(service.importBody(bulk(orgId, people('x', USERS))));
    await waitFor(async () => (await usersOf(service.pool, body.importId)) > 0, { what: 'the first users' });
    zombie.kill('SIGSTOP');
    const cancelled = (await must(service.call('POST', `/admin/v1/imports/${body.importId}/_cancel`))).body;
    const written = await usersOf(service.pool, body.importId);
    assert.equal(cancelled.counts.succeeded, written);
    zombie.kill('SIGCONT');
    await waitFor(async () => (await service.depth()) === 0, { what: 'its jobs to be dropped', timeoutMs: 30_000 });
    assert.equal(await usersOf(service.pool, body.importId), written);
    await end(zombie);
  });

  await t.test('that is told to stop finishes what it holds and ends with 0; the next one does the rest', async () => {
    const users = 500;
    const worker = await service.startWorker({ ...IMPORT_ONLY, WORKER_CONCURRENCY: '3' });
    const { importId } = (await must(service.importBody(bulk(orgId, people('t', users))))).body;
    await waitFor(async () => (await usersOf(service.pool, importId)) > 0, { what: 'the first users' });
    worker.kill('SIGTERM');
    assert.deepEqual(await worker.exited, { code: 0, signal: null });
    const written = await usersOf(service.pool, importId);
    assert.ok(written > 0 && written < users, `${written} users`);
    const { body } = await service.call('GET', `/admin/v1/imports/${importId}`);
    assert.deepEqual([body.state, body.counts.succeeded], ['IMPORT_STATE_RUNNING', written]);
    await end(await service.startWorker(IMPORT_ONLY), async () => {
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users });
    });
  });

  await t.test('that is told to stop hashes the passwords that it holds', async () => {
    const worker = await service.startWorker(IMPORT_ONLY);
    const entries = people('p', 12, { password: 'a plain one', hashedPassword: undefined });
    const { importId } = (await must(service.importBody(bulk(orgId, entries)))).body;
    await waitFor(async () => (await usersOf(service.pool, importId)) > 0, { what: 'the first users' });
    worker.kill('SIGTERM');
    assert.deepEqual(await worker.exited, { code: 0, signal: null });
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: 12 });
  });
});

/** Stops a worker after `use`, so that the next test's is alone. */
async function end(worker: TestProcess, use = async () => {}): Promise<void> {
  await use();
  worker.kill('SIGTERM');
  await worker.exited;
}
