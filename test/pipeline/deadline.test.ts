/** The timeout of an import: nothing is written after it, whichever process is alive, and `_resume` does the rest. */
import assert from 'node:assert/strict';
import type { ImportResult } from '../../src/contract/import-types.ts';
import { bulk, people, unverified } from '../support/imports/bodies.ts';
import { beginHeld, holdImport, holdWriting, moreUsers, waitingBatches } from '../support/imports/hold.ts';
import { setImport } from '../support/imports/imports.ts';
import { assertEachOnce, assertSums, rowCounts, usersOf } from '../support/imports/outcome.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { waitFor } from '../support/wait.ts';

onEachBackend('a deadline with no worker alive', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0 });
  const org = await service.newOrg();
  let importId = '';

  await t.test('is enforced to the moment by the API alone, with all jobs in the queue', async () => {
    const dispatcher = await service.startWorker({ WORKER_ROLES: 'dispatch' });
    importId = (await must(service.importBody(bulk(org.orgId, unverified('u', 100))))).body.importId;
    await waitFor(async () => (await service.depth()) === 100, { what: 'the jobs' });
    dispatcher.kill('SIGKILL');
    await dispatcher.exited;
    const result = async () => (await must(service.call('GET', `/admin/v1/imports/${importId}`))).body;
    assert.equal((await result()).state, 'IMPORT_STATE_RUNNING');
    const soon = `date_trunc('milliseconds', clock_timestamp() + interval '500 ms')`;
    await setImport(service.pool, importId, { deadline: soon });
    const deadline = Date.parse((await result()).deadline);
    const seen: { asked: number; answered: number; body: ImportResult }[] = [];
    await waitFor(
      async () => {
        const asked = Date.now();
        seen.push({ asked, body: await result(), answered: Date.now() });
        return asked > deadline;
      },
      { what: 'the deadline' },
    );
    for (const { asked, answered, body } of seen) {
      assertSums(body);
      if (answered < deadline) assert.equal(body.state, 'IMPORT_STATE_RUNNING');
      if (asked > deadline) assert.equal(body.state, 'IMPORT_STATE_TIMED_OUT');
    }
    const { body } = await service.call('GET', `/admin/v1/imports/${importId}`);
    assert.deepEqual([body.counts.timedOut, body.counts.pending, body.counts.total], [100, 0, 100]);
    const { items } = (await service.call('GET', `/admin/v1/imports/${importId}/items?state=TIMED_OUT`)).body;
    assert.equal(items.length, 100);
  });

  await t.test('also applies to workers that start later', async () => {
    const before = await rowCounts(service.pool);
    await service.startWorker();
    const control = (await must(service.importBody(bulk(org.orgId, people('control', 3))))).body;
    await service.waitForEnd(control.importId);
    await waitFor(async () => (await service.depth()) === 0, { what: 'all jobs to be processed' });
    const after = await rowCounts(service.pool);
    assert.equal(await usersOf(service.pool, importId), 0);
    assert.deepEqual([after.users, after.mail_outbox], [(before.users ?? 0) + 3, 0]);
    assert.deepEqual(service.smtp.mails, []);
  });

  await t.test('requires a new timeout to resume, and then everything is done once', async () => {
    const resume = (body: unknown) => service.call('POST', `/admin/v1/imports/${importId}/_resume`, body);
    for (const bad of [{}, { timeout: '0s' }, { timeout: 'soon' }, { timeout: '25h' }, { timeout: 5 }]) {
      assert.equal((await resume(bad)).status, 400);
    }
    const writing = await holdWriting(service.pool);
    const { status, body } = await resume({ timeout: '5m' });
    assert.deepEqual([status, body.state, body.timeout], [200, 'IMPORT_STATE_RUNNING', '5m']);
    assert.equal(body.counts.timedOut, 0);
    assert.equal((await resume({ timeout: '5m' })).status, 200);
    await writing.commit();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: 100, mails: 100 });
    assert.equal((await resume({ timeout: '5m' })).body.code, 9);
  });
});

const USERS = 500;

onEachBackend('a deadline in mid-drain', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0 });
  await service.startWorker({ WORKER_CONCURRENCY: '2' });
  const org = await service.newOrg();
  const { importId, gates } = await beginHeld(service, bulk(org.orgId, unverified('m', USERS)), [USERS / 2]);
  let written = 0;

  await t.test('lets no batch through that waited for it', async () => {
    await moreUsers(service.pool, importId);
    await setImport(service.pool, importId, { deadline: `clock_timestamp() + interval '500 ms'` });
    const release = await holdImport(service.pool, importId);
    for (const gate of gates) await gate.commit();
    // Batches wait for the row that the test locks; the deadline passes meanwhile.
    await waitingBatches(service.pool, 1);
    const { rows } = await service.pool.query('select deadline from imports where id = $1', [importId]);
    await waitFor(() => Date.now() > rows[0].deadline.getTime() + 100, { what: 'the deadline' });
    written = await usersOf(service.pool, importId);
    assert.ok(written > 0 && written <= USERS / 2, `${written} users`);
    const asked = service.call('GET', `/admin/v1/imports/${importId}`);
    await release();
    const { body } = await asked;
    assertSums(body);
    assert.equal(body.state, 'IMPORT_STATE_TIMED_OUT');
    assert.deepEqual([body.counts.succeeded, body.counts.timedOut], [written, USERS - written]);
    await service.startWorker();
    await waitFor(async () => (await service.depth()) === 0, { what: 'the jobs to be dropped' });
    assert.equal(await usersOf(service.pool, importId), written);
  });

  await t.test('leaves exactly the rest to a resume', async () => {
    const { body } = await must(service.call('POST', `/admin/v1/imports/${importId}/_resume`, { timeout: '5m' }));
    assertSums(body);
    assert.equal(body.state, 'IMPORT_STATE_RUNNING');
    assert.ok(body.counts.succeeded >= written);
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
  });

  await t.test('is reported only when no more users can appear', async () => {
    const slow = await beginHeld(service, bulk(org.orgId, people('n', 1000)), [800]);
    const at = `/admin/v1/imports/${slow.importId}`;
    await waitingBatches(service.pool, 1);
    await setImport(service.pool, slow.importId, { deadline: `clock_timestamp() + interval '100 ms'` });
    const ended = await waitFor(
      async () => {
        const { body } = await must(service.call('GET', at));
        return body.state === 'IMPORT_STATE_RUNNING' ? undefined : body;
      },
      { what: 'the deadline' },
    );
    assertSums(ended);
    const users = await usersOf(service.pool, slow.importId);
    assert.equal(ended.counts.succeeded, users);
    assert.equal(ended.state, 'IMPORT_STATE_TIMED_OUT');
    // The batches that were in progress then finish only now.
    for (const gate of slow.gates) await gate.commit();
    await waitFor(async () => (await service.depth()) === 0, { what: 'the jobs to be dropped' });
    assert.equal(await usersOf(service.pool, slow.importId), users);
    const { body } = await service.call('GET', at);
    assert.deepEqual(body.counts, ended.counts);
  });
});
