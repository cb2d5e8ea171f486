/** Processes with a single role that are killed: another process with the same role takes over. */
import assert from 'node:assert/strict';
import { bulk, unverified } from '../support/imports/bodies.ts';
import { assertEachOnce, mailsByAddress } from '../support/imports/outcome.ts';
import { must, onEachBackend, type Service, startService } from '../support/processes/service.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 400;
/** All of them are on their way at once. */
const FEW = 5;

onEachBackend('a process with one role', async (t, backend) => {
  const env = { JOB_LOCK_MS: '3000', RESCUE_AFTER_MS: '1000' };
  const service = await startService(t, { ownProcesses: true, backend, workers: 0, env });
  const org = await service.newOrg();
  const dispatch = { WORKER_ROLES: 'dispatch', DISPATCH_WINDOW: '40' };
  const dispatchers = await Promise.all([service.startWorker(dispatch), service.startWorker(dispatch)]);
  const { importId } = (await must(service.importBody(bulk(org.orgId, unverified('d', USERS))))).body;
  const holder = async () => {
    const { rows } = await service.pool.query(`select holder from leases where name = 'dispatcher'`);
    return dispatchers.find((p) => rows[0]?.holder.endsWith(`:${p.pid}`));
  };

  await t.test('that dispatches and is killed is replaced by another', async () => {
    const first = await waitFor(holder, { what: 'a dispatcher' });
    // At most a window of them: no worker writes users yet.
    await waitFor(async () => (await service.depth()) > 0, { what: 'the first jobs' });
    first.kill('SIGKILL');
    await first.exited;
    await service.startWorker({ WORKER_ROLES: 'import,rescue' });
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    const second = dispatchers.find((p) => p !== first);
    assert.equal(await holder(), second);
  });

  await t.test('that mails and is killed loses no mail, and a mail sent twice is identical byte for byte', async () => {
    const { mails } = service.smtp;
    assert.equal(mails.length, 0);
    const release = service.smtp.holdAfter(20);
    const victim = await service.startWorker({ WORKER_ROLES: 'mail' });
    await waitFor(() => service.smtp.held > 0, { what: 'the first mails' });
    victim.kill('SIGKILL');
    await victim.exited;
    release();
    assert.ok(mails.length < USERS);
    const successor = await service.startWorker({ WORKER_ROLES: 'mail' });
    await takenOver(service);
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
    const byAddress = Map.groupBy(mails, (m) => m.to.join());
    assert.equal(byAddress.size, USERS);
    for (const same of byAddress.values()) {
      assert.equal(new Set(same.map((m) => m.raw.toString('latin1'))).size, 1);
    }
    successor.kill('SIGTERM');
    await successor.exited;
  });

  await t.test('that mails and is frozen beyond its job locks sends no mail twice', async () => {
    service.smtp.mails.length = 0;
    await service.startWorker({ WORKER_ROLES: 'import,dispatch,rescue' });
    const frozen = await service.startWorker({ WORKER_ROLES: 'mail' });
    const release = service.smtp.holdAfter(0);
    const next = (await must(service.importBody(bulk(org.orgId, unverified('e', FEW))))).body;
    await service.waitForEnd(next.importId);
    await waitFor(() => service.smtp.held === FEW, { what: 'all mails to be on their way' });
    frozen.kill('SIGSTOP');
    await service.startWorker({ WORKER_ROLES: 'mail' });
    release();
    await waitFor(async () => (await service.depth('mails')) === 0, { what: 'the jobs to be taken over' });
    frozen.kill('SIGCONT');
    await assertEachOnce(service, next.importId, { users: FEW, mails: FEW });
    assert.deepEqual([...mailsByAddress(service).values()], Array(FEW).fill(1));
  });
});

/** Waits until no job of a killed process is left, and makes its mails due, which would otherwise take a minute. */
async function takenOver({ depth, pool }: Service): Promise<void> {
  await waitFor(async () => (await depth('mails')) === 0, { what: 'the queue to be empty', timeoutMs: 120_000 });
  await pool.query(`update mail_outbox set next_attempt_at = now() where state = 'pending'`);
}
