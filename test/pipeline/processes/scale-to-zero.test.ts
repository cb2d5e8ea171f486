/**
 * Pools of workers by role, and none at all: imports are accepted and wait, everything that an operator reads says so,
 * and workers that come take them at once.
 *
 * Job locks and the rescuer take an hour here, so what a worker does not give back when it stops would never be done.
 */
import assert from 'node:assert/strict';
import { bulk, unverified } from '../../support/imports/bodies.ts';
import { beginHeld, moreUsers, waitingBatches } from '../../support/imports/hold.ts';
import { jobsInProgress } from '../../support/imports/in-progress.ts';
import { assertEachOnce, usersOf } from '../../support/imports/outcome.ts';
import { runMuster } from '../../support/processes/muster.ts';
import { must, onEachBackend, type Service, startService } from '../../support/processes/service.ts';
import { waitFor } from '../../support/wait.ts';

/** The second half can be held back: the first 100 jobs jump the queue, the last one first. */
const USERS = 240;
const NO_RESCUE = { JOB_LOCK_MS: '600000', RESCUE_AFTER_MS: '3600000', WORKER_CONCURRENCY: '20' };
const POOLS = ['import', 'dispatch,rescue', 'mail,maintenance,webhooks,convert'];

const muster = async ({ url, token }: Service, ...args: string[]) =>
  (await runMuster(args, { env: { MUSTER_URL: url, MUSTER_TOKEN: token } })).stdout;
const failing = async (service: Service): Promise<string[]> =>
  ((await must(service.call('GET', '/readyz'))).body.failing ?? []).map(({ part }: { part: string }) => part);
const metric = async (service: Service, name: string) => {
  const text: string = (await must(service.call('GET', '/metrics'))).body;
  return text
    .split('\n')
    .find((line) => line.startsWith(name))
    ?.split(' ')[1];
};

onEachBackend('workers', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0, env: NO_RESCUE });
  const { pool } = service;
  const { orgId } = await service.newOrg();
  const status = async (importId: string) => (await must(service.call('GET', `/admin/v1/imports/${importId}`))).body;
  const pools = () => Promise.all(POOLS.map((WORKER_ROLES) => service.startWorker({ WORKER_ROLES })));
  let workers: Awaited<ReturnType<typeof pools>> = [];
  const toZero = async () => {
    for (const worker of workers) worker.kill('SIGTERM');
    assert.deepEqual(
      new Set((await Promise.all(workers.map(({ exited }) => exited))).map(({ code }) => code)),
      new Set([0]),
    );
  };

  await t.test('that are not there keep an import waiting, and status, doctor, readyz and metrics say so', async () => {
    assert.deepEqual(await failing(service), [], 'nobody waits');
    const { importId } = (await must(service.importBody(bulk(orgId, unverified('a', USERS))))).body;
    const { state, counts, missingRoles } = await status(importId);
    assert.deepEqual([state, counts.pending, missingRoles], ['IMPORT_STATE_RUNNING', USERS, ['import', 'dispatch']]);
    assert.match(await muster(service, 'status', importId), /waits for +a worker with the role import, dispatch/);
    assert.match(await muster(service, 'doctor'), /✖ workers: no worker writes imported users/);
    assert.deepEqual(await failing(service), ['workers']);
    assert.equal(await metric(service, 'muster_worker_roles{role="import"}'), '0');
  });

  await t.test('of one role each do everything together, as soon as they come', async () => {
    workers = await pools();
    const { importId } = (await must(service.call('GET', '/admin/v1/imports'))).body.imports[0];
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
    await waitFor(async () => (await status(importId)).missingRoles === undefined, { what: 'no role to be missing' });
    assert.deepEqual(await failing(service), []);
    const roles = async () => (await metric(service, 'muster_worker_roles{role="import"}')) === '1';
    await waitFor(roles, { what: 'the worker in /metrics' });
    assert.doesNotMatch(await muster(service, 'doctor'), /no worker/);
  });

  await t.test('that all stop in mid-import give back what they hold, and the next ones continue at once', async () => {
    service.smtp.mails.length = 0;
    const { importId, gates } = await beginHeld(service, bulk(orgId, unverified('b', USERS)), [USERS / 2]);
    await moreUsers(pool, importId);
    await waitingBatches(pool, 1);
    const stopped = toZero();
    const isStopping = async () => (await muster(service, 'workers')).includes('stopping');
    await waitFor(isStopping, { what: 'the worker to stop' });
    for (const gate of gates) await gate.commit();
    await stopped;
    assert.equal(await jobsInProgress(service), 0, 'no job stays with a worker that is gone');
    assert.deepEqual((await pool.query('select name from leases')).rows, [], 'nor a lease');
    assert.equal((await pool.query('select from workers')).rowCount, 0);
    const written = await usersOf(pool, importId);
    workers = await pools();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
    t.diagnostic(`${written} of ${USERS} users were written before the stop`);
  });
});
