/** With remote stores an import is exact and makes steady progress, and no job loses its lock. */
import assert from 'node:assert/strict';
import { openScope } from '../../../bench/scope.ts';
import { startProxy } from '../../../bench/testbed/proxy.ts';
import { bulk, people } from '../../support/imports/bodies.ts';
import { assertEachOnce } from '../../support/imports/outcome.ts';
import { must, onEachBackend, startService } from '../../support/processes/service.ts';
import { testDatabase } from '../../support/stores/postgres.ts';
import { redisUrl } from '../../support/stores/redis.ts';

const USERS = 500;
const DELAY_MS = 40;
/** Fetched one by one, 400 jobs take 16 s. The lock is long enough for a busy machine. */
const FAR = { WORKER_CONCURRENCY: '400', JOB_LOCK_MS: '6000', RESCUE_AFTER_MS: '60000' };

onEachBackend('stores 40 ms away from API and workers', async (t, backend) => {
  const scope = openScope();
  const db = await testDatabase();
  const { databaseUrl, redisUrl: farRedis } = await startProxy(
    scope,
    { databaseUrl: db.url, redisUrl: redisUrl() ?? '/nowhere' },
    DELAY_MS,
  );
  const service = await startService(t, {
    backend,
    workers: 2,
    database: { url: databaseUrl, pool: db.pool },
    redisUrl: farRedis,
    env: FAR,
    async onStopped() {
      await scope.close();
      await db.drop();
    },
  });
  const { orgId } = await service.newOrg();
  const { importId } = (await must(service.importBody(bulk(orgId, people('far', USERS))))).body;
  assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
  await assertEachOnce(service, importId, { users: USERS });
  const logs = service.processes.map(({ output }) => output()).join('');
  assert.deepEqual(logs.match(/lost the lock|Missing lock|Lock mismatch|could not renew lock/g), null);
});
