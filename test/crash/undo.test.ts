/** An undo whose worker is killed in the middle: the next one continues after the last commit. */
import assert from 'node:assert/strict';
import { UNDO_BATCH } from '../../src/imports/control/undo.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { bulk, unverified } from '../support/imports/bodies.ts';
import { assertSums, usersOf } from '../support/imports/outcome.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { hold } from '../support/stores/locks.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 2 * UNDO_BATCH + 100;
/** A user in the second batch. */
const HELD = UNDO_BATCH + 200;

onEachBackend('a worker that undoes', async (t, backend) => {
  const service = await startService(t, { ownProcesses: true, backend, workers: 0 });
  const others = await service.startWorker({ WORKER_ROLES: 'import,dispatch' });
  const { orgId } = await service.newOrg();
  const result = async (id: string) => (await must(service.call('GET', `/admin/v1/imports/${id}`))).body;
  const undo = (id: string) => must(service.call('POST', `/admin/v1/imports/${id}/_undo`, {}));
  const undoneSoFar = async (id: string) => (await result(id)).counts.undone;

  for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
    await t.test(`and receives ${signal} is replaced, and no user is removed or counted twice`, async () => {
      const { importId } = await service.imported(bulk(orgId, unverified(signal, USERS)));
      const victim = await service.startWorker({ WORKER_ROLES: 'rescue' });
      // A user of the second batch is locked, so that the signal comes in the middle of the batch.
      const release = await holdUser(service.pool, `id-${signal}${HELD}`);
      await undo(importId);
      await waitFor(async () => (await undoneSoFar(importId)) === UNDO_BATCH, { what: 'the first batch' });
      await waitFor(() => waitsForUser(service.pool), { what: 'the second batch' });
      const frozen = await holder(service.pool);
      victim.kill(signal);
      if (signal === 'SIGKILL') await victim.exited;
      await release();
      const successor = await service.startWorker({ WORKER_ROLES: 'rescue' });
      const isReplaced = async () => (await holder(service.pool)) !== frozen;
      await waitFor(isReplaced, { what: 'the lease to run out' });
      // The killed worker still holds the locks of its half batch.
      if (signal === 'SIGSTOP') victim.kill('SIGCONT');
      await waitFor(async () => (await result(importId)).state === 'IMPORT_STATE_UNDONE', {
        what: 'the undo',
        timeoutMs: 90_000,
      });
      const { counts, mails } = await result(importId);
      assertSums(await result(importId));
      assert.deepEqual([counts.undone, counts.succeeded, mails.pending], [USERS, 0, 0]);
      assert.equal(await usersOf(service.pool, importId), 0);
      const { rows } = await service.pool.query(
        `select count(*)::int as events, count(distinct aggregate_id)::int as users from history
         where type = 'user.removed' and payload ->> 'importId' = $1`,
        [importId],
      );
      assert.deepEqual(rows, [{ events: USERS, users: USERS }]);
      for (const worker of signal === 'SIGKILL' ? [successor] : [successor, victim]) {
        worker.kill('SIGTERM');
        assert.deepEqual(await worker.exited, { code: 0, signal: null });
      }
    });
  }
  others.kill('SIGTERM');
  await others.exited;
});

async function holdUser(pool: Pool, userId: string): Promise<() => Promise<void>> {
  const { commit } = await hold(pool, 'select from users where id = $1 for key share', [userId]);
  return commit;
}

async function holder(pool: Pool): Promise<string | undefined> {
  return (await pool.query(`select holder from leases where name = 'undoer'`)).rows[0]?.holder;
}

async function waitsForUser(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from pg_stat_activity
     where datname = current_database() and application_name = 'muster-worker' and wait_event_type = 'Lock'`,
  );
  return rowCount === 1;
}
