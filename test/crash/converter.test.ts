/** A worker that is killed while it converts the files of a draft: another one begins again, and each user comes once. */
import assert from 'node:assert/strict';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { hold, waiters } from '../support/stores/locks.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 3000;
const TUS = { 'tus-resumable': '1.0.0' };

onEachBackend('a converter', async (t, backend) => {
  const service = await startService(t, { ownProcesses: true, backend, workers: 0 });
  const { orgId } = await service.newOrg();
  const { pool } = service;
  const rows = Array.from({ length: USERS }, (_, i) => `c${i},c${i}@acme.example,Cleo,Clark\n`).join('');
  const file = Buffer.from(`id,email,firstName,lastName\n${rows}`);
  const { importId } = (await must(service.call('POST', '/admin/v1/imports', { orgId }))).body;
  const path = `/admin/v1/imports/${importId}`;
  const length = { ...TUS, 'upload-length': String(file.length) };
  const created = await must(service.call('POST', `${path}/files`, undefined, { headers: length }));
  const part = { ...TUS, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
  await must(service.call('PATCH', String(created.headers.get('location')), file, { headers: part }));
  const state = async () => (await must(service.call('GET', path))).body.state;

  await t.test('that is killed in the middle leaves its work to the next one', async () => {
    const gate = await hold(pool, 'lock table import_items in share mode'); // what it writes waits
    await must(service.call('POST', `${path}/_convert`, { source: 'csv' }));
    const worker = await service.startWorker({ WORKER_ROLES: 'convert' });
    await waiters(pool, 1, 'muster-worker');
    worker.kill('SIGKILL');
    await worker.exited;
    assert.equal(await state(), 'IMPORT_STATE_CONVERTING');
    await gate.commit();
    // As if the time of its lease had passed.
    await pool.query('update import_preparations set held_until = now() where import_id = $1', [importId]);
    await service.startWorker();
    await waitFor(async () => (await state()) === 'IMPORT_STATE_DRAFT', { what: 'the conversion' });
    const { counts } = (await must(service.call('POST', `${path}/_start`, { timeout: '10m' }))).body;
    assert.equal(counts.total, USERS);
    await service.waitForEnd(importId);
    const { rows: found } = await pool.query(
      `select count(*)::int as n from users where id like 'c%' and org_id = $1`,
      [orgId],
    );
    assert.equal(found[0].n, USERS);
  });
});
