/**
 * Plain passwords have a lane of their own: they hold up no other import, and are dropped when their import stops.
 *
 * The test locks the items of an import: a worker that has hashed one of its passwords waits, and keeps its slot, however
 * fast the machine is.
 */
import assert from 'node:assert/strict';
import { bulk, people } from '../support/imports/bodies.ts';
import { holdItems } from '../support/imports/hold.ts';
import { assertEachOnce } from '../support/imports/outcome.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { waiters } from '../support/stores/locks.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 20;
/** Two for each thread. */
const SLOTS = 2;
const ENV = { WORKER_CONCURRENCY: '4', HASH_THREADS: '1', JOB_LOCK_MS: '3000', RESCUE_AFTER_MS: '600000' };
const IMPORT_ONLY = { WORKER_ROLES: 'import' };

const withPasswords = (name: string, count: number) =>
  people(name, count, { password: `secret of ${name}`, hashedPassword: undefined });

onEachBackend('an import with plain passwords', async (t, backend) => {
  const service = await startService(t, { ownProcesses: true, backend, workers: 0, env: ENV });
  await service.startWorker({ WORKER_ROLES: 'dispatch,rescue' });
  const { pool } = service;
  const [one, other] = [await service.newOrg(), await service.newOrg()];
  let worker = await service.startWorker(IMPORT_ONLY);

  /** An import whose passwords wait for slots that do not become free until `gate` is opened. */
  async function holdHashing(name: string, timeout = '10m') {
    const { importId } = (await must(service.importBody(bulk(one.orgId, withPasswords(name, USERS), timeout)))).body;
    const gate = await holdItems(pool, importId, 0);
    await waiters(pool, SLOTS, 'muster-writer');
    await waitFor(async () => (await service.depth()) === 0, { what: 'the queue of all imports to be free' });
    return { importId, gate };
  }
  const act = (importId: string, action: string) =>
    must(service.call('POST', `/admin/v1/imports/${importId}/${action}`, {}));
  /** The passwords of an import that were hashed and not written. */
  async function hashed(importId: string): Promise<number> {
    const { rows } = await pool.query<{ n: number }>(
      'select count(*)::int as n from import_items where import_id = $1 and password_hash is not null',
      [importId],
    );
    return rows[0]?.n as number;
  }

  await t.test('holds up no import of others', async () => {
    const { importId, gate } = await holdHashing('slow');
    const quick = await service.imported(bulk(other.orgId, people('quick', 100)));
    assert.equal(quick.state, 'IMPORT_STATE_SUCCEEDED');
    await gate.commit();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS });
  });

  for (const [what, state, stop] of [
    ['a cancel', 'cancelled', (id: string) => act(id, '_cancel')],
    ['a pause', 'paused', (id: string) => act(id, '_pause')],
    [
      'its deadline',
      'timed_out',
      (id: string) => pool.query('update imports set deadline = clock_timestamp() where id = $1', [id]),
    ],
  ] as const) {
    await t.test(`hashes no further password after ${what}, and the rest after a resume`, async () => {
      const { importId, gate } = await holdHashing(state);
      await stop(importId);
      // Held by the gate.
      await waitFor(async () => (await service.depth('hashes')) <= SLOTS, { what: 'the others to be dropped' });
      await gate.commit();
      await waitFor(async () => (await service.depth('hashes')) === 0, { what: 'the end of those that had begun' });
      assert.ok((await hashed(importId)) <= SLOTS, `${await hashed(importId)} passwords`);
      await must(service.call('POST', `/admin/v1/imports/${importId}/_resume`, { timeout: '10m' }));
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users: USERS });
    });
  }

  for (const [signal, what] of [
    ['SIGKILL', 'is killed'],
    ['SIGTERM', 'stops'],
  ] as const) {
    await t.test(`is hashed to its end by another worker when its worker ${what}`, async () => {
      const { importId, gate } = await holdHashing(signal.toLowerCase());
      worker.kill(signal);
      if (signal === 'SIGKILL') await worker.exited;
      const successor = await service.startWorker(IMPORT_ONLY);
      await gate.commit();
      await worker.exited;
      worker = successor;
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users: USERS });
    });
  }
});
