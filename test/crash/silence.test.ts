/**
 * A worker whose connections to PostgreSQL fall silent in mid-batch: no answer, no error, no end. It stays alive, and
 * keeps renewing the locks of its jobs. Another worker does them.
 */
import assert from 'node:assert/strict';
import { bulk, people } from '../support/imports/bodies.ts';
import { holdImport, waitingBatches } from '../support/imports/hold.ts';
import { assertEachOnce } from '../support/imports/outcome.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { startSilentProxy } from '../support/stores/silent-proxy.ts';

const USERS = 100;
const FAST_RESCUE = { JOB_LOCK_MS: '1000', RESCUE_AFTER_MS: '1000' };
const IMPORT_ONLY = { WORKER_ROLES: 'import' };

onEachBackend('a worker whose PostgreSQL falls silent', async (t, backend) => {
  const service = await startService(t, { ownProcesses: true, backend, workers: 0, env: FAST_RESCUE });
  const proxy = await startSilentProxy(service.databaseUrl);
  t.after(() => proxy.stop());
  await service.startWorker({ WORKER_ROLES: 'dispatch,rescue' });
  const { orgId } = await service.newOrg();
  const behindProxy = {
    ...IMPORT_ONLY,
    DATABASE_URL: proxy.url,
    DATABASE_TIMEOUT_MS: '2000',
    WORKER_CONCURRENCY: '40',
  };

  for (const [what, before] of [
    ['after its batch came through', async () => {}],
    [
      'before its batch came through',
      async (pids: number[]) => {
        await service.pool.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [pids]);
      },
    ],
  ] as const) {
    await t.test(`${what} is replaced, and writes again once PostgreSQL answers`, async () => {
      const prefix = what.slice(0, 3);
      const { importId } = (await must(service.importBody(bulk(orgId, people(prefix, USERS))))).body;
      const release = await holdImport(service.pool, importId);
      const silent = await service.startWorker(behindProxy);
      const pids = await waitingBatches(service.pool, 1);
      proxy.silence();
      await before(pids);
      await release();
      const other = await service.startWorker(IMPORT_ONLY);
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users: USERS });

      proxy.recover();
      other.kill('SIGTERM');
      await other.exited;
      // No other worker is running.
      const next = (await must(service.importBody(bulk(orgId, people(`${prefix}n`, USERS))))).body;
      assert.equal((await service.waitForEnd(next.importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, next.importId, { users: USERS });
      await assertEachOnce(service, importId, { users: USERS });
      silent.kill('SIGTERM');
      assert.deepEqual(await silent.exited, { code: 0, signal: null });
    });
  }
});
