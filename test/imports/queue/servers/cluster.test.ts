/** Imports with the queue in a Redis Cluster: one shard on each master, while slots move and masters die. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { shardsOn, slotOf } from '../../../../src/imports/queue/shards.ts';
import { parseRedisUrls } from '../../../../src/platform/redis-urls.ts';
import { bulk, people } from '../../../support/imports/bodies.ts';
import { beginHeld, moreUsers } from '../../../support/imports/hold.ts';
import { assertEachOnce } from '../../../support/imports/outcome.ts';
import { must, startService } from '../../../support/processes/service.ts';
import { requireOrSkip } from '../../../support/stores/redis.ts';
import { moveSlot, portOf, startCluster } from '../../../support/stores/redis-groups.ts';
import { waitFor } from '../../../support/wait.ts';

const USERS = 1200;

test('an import with its queue in a Redis Cluster', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const cluster = await startCluster({ replicas: 1 });
  const masters = cluster.servers.slice(0, 3);
  const service = await startService(t, {
    backend: 'redis',
    redisUrl: cluster.url,
    workers: 2,
    env: { QUEUE_SHARDS: '3', WORKER_CONCURRENCY: '30', JOB_LOCK_MS: '3000' },
    onStopped: () => cluster.stop(),
  });
  const { orgId } = await service.newOrg();
  const shards = shardsOn(parseRedisUrls(cluster.url), 3, service.queuePrefix);
  const slots = shards.map(({ prefix }) => slotOf(prefix.slice(1, -1)));

  await t.test('has jobs on every master', async () => {
    const { importId, gates } = await beginHeld(service, bulk(orgId, people('spread', USERS)), [USERS / 2]);
    await moreUsers(service.pool, importId);
    for (const [i, { prefix }] of shards.entries()) {
      const keyslot = await cluster.ask(portOf(masters[0] as never), 'CLUSTER', 'KEYSLOT', `${prefix}:any`);
      assert.equal(slots[i], keyslot, 'as Redis computes it');
    }
    const sizes = () => Promise.all(masters.map((master) => cluster.ask(portOf(master), 'DBSIZE')));
    const isOnAll = async () => (await sizes()).every((size) => Number(size) > 50);
    await waitFor(isOnAll, { what: 'keys on every master' });
    for (const gate of gates) await gate.commit();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS });
  });

  await t.test('is reported with every server, without addresses', async () => {
    // A busy queue may not report its workers in time.
    const queue = await waitFor(
      async () => {
        const { body } = await must(service.call('GET', '/admin/v1/diagnostics'));
        return body.queue.workers && body.queue;
      },
      { what: 'diagnostics with the workers' },
    );
    const roles = queue.redisNodes.map(({ role }: { role: string }) => role).sort();
    assert.deepEqual(roles, ['master', 'master', 'master', 'replica', 'replica', 'replica']);
    assert.ok(queue.redisNodes.every((node: { facts?: object; answers: boolean }) => node.answers && node.facts));
    assert.deepEqual(queue.workers, { imports: 2, mails: 2 });
    assert.doesNotMatch(JSON.stringify(queue), /127\.0\.0\.1/);
  });

  await t.test('writes each user once while a slot moves to another master', async () => {
    const { importId, gates } = await beginHeld(service, bulk(orgId, people('moved', USERS)), [100, USERS / 2]);
    await gates[0]?.commit();
    await moreUsers(service.pool, importId);
    const owners = await Promise.all(
      masters.map(async (master) => String(await cluster.ask(portOf(master), 'CLUSTER', 'NODES'))),
    );
    const [slot = assert.fail()] = slots;
    const from = owners.findIndex((nodes) => ownsSlot(nodes, slot));
    await moveSlot(slot, masters[from] as never, masters[(from + 1) % 3] as never);
    for (const gate of gates.slice(1)) await gate.commit();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS });
  });

  await t.test('writes each user once when a master dies and its replica takes over', async () => {
    const { importId, gates } = await beginHeld(service, bulk(orgId, people('failed', USERS)), [USERS / 2]);
    await moreUsers(service.pool, importId);
    const [victim = assert.fail(), witness = assert.fail()] = masters;
    process.kill(victim.pid, 'SIGKILL');
    for (const gate of gates) await gate.commit();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS });
    const state = async () => /cluster_state:ok/.test(String(await cluster.ask(portOf(witness), 'CLUSTER', 'INFO')));
    await waitFor(state, { what: 'the Cluster to recover', timeoutMs: 30_000 });
    assert.equal((await service.imported(bulk(orgId, people('after', 50)))).counts.succeeded, 50);
  });
});

/** Whether the node that was asked for `CLUSTER NODES` owns the slot. */
function ownsSlot(nodes: string, slot: number): boolean {
  const own = nodes.split('\n').find((line) => line.includes('myself')) ?? '';
  return own
    .split(' ')
    .slice(8)
    .some((range) => {
      const [first, last = first] = range.split('-').map(Number);
      return slot >= (first as number) && slot <= (last as number);
    });
}
