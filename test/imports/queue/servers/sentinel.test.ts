/** Imports with the queue on a Redis behind Sentinels, while its role moves to the replica and while it dies. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { readRedisNodes } from '../../../../src/imports/queue/redis.ts';
import { bulk, people } from '../../../support/imports/bodies.ts';
import { beginHeld, moreUsers } from '../../../support/imports/hold.ts';
import { assertEachOnce } from '../../../support/imports/outcome.ts';
import { startService } from '../../../support/processes/service.ts';
import { requireOrSkip, type TestRedis } from '../../../support/stores/redis.ts';
import { portOf, startSentinels } from '../../../support/stores/redis-groups.ts';
import { waitFor } from '../../../support/wait.ts';

const USERS = 600;

test('an import with its queue behind Redis Sentinels', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const group = await startSentinels();
  const [first, second, ...sentinels] = group.servers as [TestRedis, TestRedis, ...TestRedis[]];
  const service = await startService(t, {
    backend: 'redis',
    redisUrl: group.url,
    workers: 2,
    env: { WORKER_CONCURRENCY: '30', JOB_LOCK_MS: '3000' },
    onStopped: () => group.stop(),
  });
  const { orgId } = await service.newOrg();
  const ask = (...command: [string, ...string[]]) => group.ask(portOf(sentinels[0] as TestRedis), ...command);
  const becomesMaster = (server: TestRedis) =>
    waitFor(
      async () => {
        const [, port] = (await ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'mymaster')) as string[];
        return Number(port) === portOf(server);
      },
      { what: `the master to be ${server.url}`, timeoutMs: 60_000 },
    );

  /** Runs `change` in the middle of an import; every user is written once. */
  async function during(name: string, change: () => Promise<unknown>): Promise<void> {
    const { importId, gates } = await beginHeld(service, bulk(orgId, people(name, USERS)), [USERS / 2]);
    await moreUsers(service.pool, importId);
    await change();
    for (const gate of gates) await gate.commit();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS });
  }

  /** The roles of the servers that answer, or do not. */
  async function roles(answer: boolean): Promise<string[]> {
    const nodes = await readRedisNodes(group.url);
    return nodes
      .filter(({ reason }) => (reason === undefined) === answer)
      .map(({ role }) => role)
      .sort();
  }

  await t.test('has every server reported', async () => {
    assert.deepEqual(await roles(true), ['master', 'replica', 'sentinel', 'sentinel', 'sentinel']);
  });

  await t.test('writes each user once when the replica becomes the master', () =>
    during('planned', async () => {
      await ask('SENTINEL', 'FAILOVER', 'mymaster');
      await becomesMaster(second);
    }),
  );

  await t.test('writes each user once when the master is killed', async () => {
    const follows = async () => /master_link_status:up/.test(String(await group.ask(portOf(first), 'INFO')));
    await waitFor(follows, { what: 'the old master to follow the new one', timeoutMs: 60_000 });
    await during('killed', async () => {
      process.kill(second.pid, 'SIGKILL');
      await becomesMaster(first);
    });
    assert.deepEqual(await roles(false), ['replica']);
  });
});
