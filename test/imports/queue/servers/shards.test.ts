/** Imports whose jobs are spread over shards on two Redis servers. */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { bulk, people } from '../../../support/imports/bodies.ts';
import { beginHeld, moreUsers } from '../../../support/imports/hold.ts';
import { assertEachOnce, usersOf } from '../../../support/imports/outcome.ts';
import { smallImportsEndFirst, TURNS } from '../../../support/imports/turns.ts';
import { must, type ServiceOptions, startService } from '../../../support/processes/service.ts';
import { redisProgram, requireOrSkip, startRedis } from '../../../support/stores/redis.ts';
import { waitFor } from '../../../support/wait.ts';

const USERS = 800;
/** So long that the rescuer cannot be what ends an import. */
const NO_RESCUE = '600000';

async function open(t: TestContext, options: Partial<ServiceOptions>) {
  if (!requireOrSkip(t, 'redis')) return undefined;
  const servers = [await startRedis(redisProgram()), await startRedis(redisProgram())] as const;
  const service = await startService(t, {
    ...options,
    backend: 'redis',
    redisUrl: servers.map(({ url }) => url).join(' '),
    async onStopped() {
      for (const server of servers) await server.stop();
    },
  });
  return { service, servers, orgId: (await service.newOrg()).orgId };
}

test('a small import whose jobs are on four shards', async (t) => {
  // One job at a time from each shard, as from a queue without shards.
  const world = await open(t, { env: { ...TURNS, QUEUE_SHARDS: '4' } });
  if (world) await smallImportsEndFirst(t, world.service);
});

test('processes with different numbers of shards', async (t) => {
  const world = await open(t, { workers: 0, ownProcesses: true, env: { RESCUE_AFTER_MS: NO_RESCUE } });
  if (!world) return;
  const { service, orgId } = world;
  const settings = { WORKER_CONCURRENCY: '40', JOB_LOCK_MS: '3000' };
  const four = await service.startWorker({ ...settings, QUEUE_SHARDS: '4' });
  const { importId, gates } = await beginHeld(service, bulk(orgId, people('k', USERS)), [USERS / 4, USERS / 2]);
  await moreUsers(service.pool, importId);

  await t.test('lose nothing when the one with the most is killed while its shards have jobs', async () => {
    four.kill('SIGKILL');
    await four.exited;
    await service.startWorker({ ...settings, QUEUE_SHARDS: '1' });
    await gates[0]?.commit();
    await moreUsers(service.pool, importId, USERS / 4);
  });

  await t.test('lose nothing when one with more joins', async () => {
    await service.startWorker({ ...settings, QUEUE_SHARDS: '3' });
    await gates[1]?.commit();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS });
    assert.equal((await service.imported(bulk(orgId, people('after', 50)))).counts.succeeded, 50);
  });
});

test('shards on two servers', async (t) => {
  const world = await open(t, { workers: 2, env: { WORKER_CONCURRENCY: '40', JOB_LOCK_MS: '3000' } });
  if (!world) return;
  const { service, servers, orgId } = world;
  const { pool } = service;

  await t.test('obey pause, resume and cancel', async () => {
    const { importId, gates } = await beginHeld(service, bulk(orgId, people('p', USERS)), [USERS / 2]);
    await moreUsers(pool, importId);
    const act = (action: string) => must(service.call('POST', `/admin/v1/imports/${importId}/${action}`));
    await act('_pause');
    for (const gate of gates) await gate.commit();
    await waitFor(async () => (await service.depth()) === 0, { what: 'the jobs to end without effect' });
    const written = await usersOf(pool, importId);
    assert.ok(written < USERS, 'the batches behind the gate were not written');
    await act('_resume');
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS });

    const next = await beginHeld(service, bulk(orgId, people('c', USERS)), [USERS / 2]);
    await moreUsers(pool, next.importId);
    const cancelled = await must(service.call('POST', `/admin/v1/imports/${next.importId}/_cancel`));
    for (const gate of next.gates) await gate.commit();
    await waitFor(async () => (await service.depth()) === 0, { what: 'the jobs to end without effect' });
    assert.equal(await usersOf(pool, next.importId), cancelled.body.counts.succeeded);
  });

  for (const [what, strike] of [
    ['silent', 'SIGSTOP'],
    ['killed', 'SIGKILL'],
  ] as const) {
    await t.test(`write each user once while one of the servers is ${what}`, async (t) => {
      const { importId, gates } = await beginHeld(service, bulk(orgId, people(what, USERS)), [USERS / 2]);
      await moreUsers(pool, importId);
      process.kill(servers[1].pid, strike);
      // A stopped process ignores the signal to end.
      if (strike === 'SIGSTOP') t.after(() => process.kill(servers[1].pid, 'SIGCONT'));
      for (const gate of gates) await gate.commit();
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, importId, { users: USERS });
      assert.equal((await service.imported(bulk(orgId, people(`after-${what}`, 50)))).counts.succeeded, 50);
      if (strike === 'SIGSTOP') process.kill(servers[1].pid, 'SIGCONT');
    });
  }
});
