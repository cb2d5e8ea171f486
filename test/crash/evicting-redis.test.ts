/**
 * A Redis that evicts keys when its memory is full (`maxmemory-policy allkeys-lru`), jobs in progress among them: imports
 * end, no process does, and the diagnostics name the policy.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Redis } from 'ioredis';
import { checkService } from '../../src/contract/findings.ts';
import { bulk, unverified } from '../support/imports/bodies.ts';
import { holdImport, holdWriting, waitingBatches } from '../support/imports/hold.ts';
import { assertEachOnce } from '../support/imports/outcome.ts';
import { must, startService } from '../support/processes/service.ts';
import { redisProgram, requireOrSkip, startRedis } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 200;

test('a Redis that evicts all jobs ends no process and no import', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const server = await startRedis(redisProgram(), ['--maxmemory-policy', 'allkeys-lru']);
  const redis = new Redis(server.url);
  // Every process must stop cleanly at the end: a worker that has ended before fails the test.
  const service = await startService(t, {
    backend: 'redis',
    redisUrl: server.url,
    env: { JOB_LOCK_MS: '2000' },
    async onStopped() {
      redis.disconnect();
      await server.stop();
    },
  });
  const { orgId } = await service.newOrg();
  const submit = async (name: string) =>
    (await must(service.importBody(bulk(orgId, unverified(name, USERS))))).body.importId as string;

  const writing = await holdWriting(service.pool);
  const running = await submit('running');
  const release = await holdImport(service.pool, running);
  await writing.commit();
  await waitingBatches(service.pool, 1);
  const waiting = await submit('waiting');
  await redis.config('SET', 'maxmemory', '1');
  await waitFor(async () => (await redis.dbsize()) === 0, { what: 'every key to be evicted' });
  await redis.config('SET', 'maxmemory', '64mb');
  await release();

  for (const importId of [running, waiting, await submit('later')]) {
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
  }
  const { body } = await service.call('GET', '/admin/v1/diagnostics');
  const [found] = checkService(body).filter(({ message }) => message.includes('allkeys-lru'));
  assert.deepEqual([found?.name, found?.state], ['redis', 'problem']);
});
