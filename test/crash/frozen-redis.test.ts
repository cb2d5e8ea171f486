/**
 * A frozen Redis: it accepts connections and commands, and answers nothing. It thaws only after all API answers
 * arrived.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { bulk, people } from '../support/imports/bodies.ts';
import { holdImport, holdWriting, waitingBatches } from '../support/imports/hold.ts';
import { entry } from '../support/imports/imports.ts';
import { assertEachOnce, usersOf } from '../support/imports/outcome.ts';
import { must, startService } from '../support/processes/service.ts';
import { findProgram } from '../support/runner/programs.ts';
import { requireOrSkip, startRedis } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 200;
const TIMEOUT = { SINGLE_IMPORT_TIMEOUT_MS: '1000' };

test('a Redis that is frozen', { timeout: 240_000 }, async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const redis = await startRedis(findProgram('redis') as string);
  const thaw = () => process.kill(redis.pid, 'SIGCONT');
  const freeze = () => process.kill(redis.pid, 'SIGSTOP');
  t.after(thaw);
  const onStopped = () => redis.stop();
  const service = await startService(t, {
    ownProcesses: true,
    backend: 'redis',
    redisUrl: redis.url,
    env: TIMEOUT,
    onStopped,
  });
  const { orgId } = await service.newOrg();
  const single = (name: string) =>
    service.call('POST', '/management/v1/users/human/_import', entry(name).user, { orgId });

  await t.test('delays no answer: neither a 504 nor a 202 nor a read', async () => {
    freeze();
    const late = await single('late');
    assert.deepEqual([late.status, late.body.code], [504, 4]);
    const { importId, state } = (await must(service.importBody(bulk(orgId, people('f', USERS))))).body;
    assert.equal(state, 'IMPORT_STATE_RUNNING');
    for (const path of [`/admin/v1/imports/${importId}`, '/admin/v1/imports', '/readyz', '/metrics']) {
      assert.equal((await service.call('GET', path)).status, 200, path);
    }
    await must(service.call('POST', `/admin/v1/imports/${importId}/_pause`, {}));
    assert.equal(await usersOf(service.pool, importId), 0);
    thaw();
    await must(service.call('POST', `/admin/v1/imports/${importId}/_resume`, {}));
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS });
    const { rowCount } = await service.pool.query(`select from users where user_name_key = 'late'`);
    assert.equal(rowCount, 0);
  });

  await t.test('in mid-drain loses no user and duplicates none', async () => {
    const writing = await holdWriting(service.pool);
    const { importId } = (await must(service.importBody(bulk(orgId, people('m', USERS))))).body;
    const release = await holdImport(service.pool, importId);
    await writing.commit();
    await waitingBatches(service.pool, 1);
    freeze();
    await release();
    await waitFor(async () => (await usersOf(service.pool, importId)) > 0, { what: 'the batch to be written' });
    thaw();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS });
    // A single import may still time out on a busy machine; repeat until the queue has taken one.
    await waitFor(async () => (await single(`after${performance.now()}`)).status === 200, { what: 'a single import' });
  });
});
