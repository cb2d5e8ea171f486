/** `muster workers`: the live worker processes, as each of them reports itself. */
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import packageJson from '../../package.json' with { type: 'json' };
import type { WorkerView } from '../../src/contract/diagnostics.ts';
import { newestMigration } from '../../src/platform/db/migrate.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { holdWriting, waitingBatches } from '../support/imports/hold.ts';
import { runMuster } from '../support/processes/muster.ts';
import { must, onEachBackend, type Service, startService } from '../support/processes/service.ts';
import { waitFor } from '../support/wait.ts';

const ask = ({ url, token }: Service, ...args: string[]) =>
  runMuster(['workers', ...args], { env: { MUSTER_URL: url, MUSTER_TOKEN: token } });

async function listed(service: Service): Promise<WorkerView[]> {
  const { code, stdout } = await ask(service, '--json');
  assert.equal(code, 0);
  return JSON.parse(stdout).result;
}

const USERS = 30;

onEachBackend('muster workers lists each worker with its roles and what it does', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0 });
  const { orgId } = await service.newOrg();
  assert.match((await ask(service)).stdout, /^No worker is running\. Start one: npm run worker$/m);

  const writing = await holdWriting(service.pool);
  const importer = await service.startWorker({ WORKER_ROLES: 'import,dispatch', WORKER_CONCURRENCY: '20' });
  const mailer = await service.startWorker({ WORKER_ROLES: 'mail' });
  const { importId } = (await must(service.importBody(bulk(orgId, people('w', USERS))))).body;
  await waitingBatches(service.pool, 1);
  const busy = await waitFor(
    async () => {
      const found = await listed(service);
      return found.length === 2 && found.some(({ jobs }) => jobs.imports === 20) ? found : undefined;
    },
    { what: 'both workers, one with its jobs' },
  );
  const first = busy.find(({ pid }) => pid === importer.pid) ?? assert.fail();
  const { startedAt, seenAt, ...facts } = first;
  assert.deepEqual(facts, {
    host: hostname(),
    pid: importer.pid,
    version: packageJson.version,
    roles: ['import', 'dispatch'],
    state: 'WORKER_STATE_RUNNING',
    queue: { backend, shards: 1 },
    jobs: { imports: 20, mails: 0 },
    usersPerSecond: 0,
    failing: [],
  });
  assert.ok(startedAt <= seenAt);
  const { rows: schemas } = await service.pool.query('select distinct schema from workers');
  assert.deepEqual(schemas, [{ schema: await newestMigration() }]);
  const table = (await ask(service)).stdout.split('\n');
  assert.match(table[0] as string, /^HOST +PID +STATE/);
  assert.ok(table.some((line) => line.includes(` ${mailer.pid} `) && line.endsWith('mail')));

  importer.kill('SIGTERM');
  const stopping = async () =>
    (await listed(service)).some(({ pid, state }) => pid === importer.pid && state === 'WORKER_STATE_STOPPING');
  await waitFor(stopping, { what: 'the worker to be shown as stopping' });
  await writing.commit();
  await importer.exited;
  assert.deepEqual(
    (await listed(service)).map(({ pid }) => pid),
    [mailer.pid],
    'one that has stopped is gone at once',
  );

  const next = await service.startWorker({ WORKER_ROLES: 'import,dispatch,rescue' });
  await service.waitForEnd(importId);
  const rate = async () => (await listed(service)).some(({ pid }) => pid === next.pid);
  await waitFor(rate, { what: 'the next worker' });

  // As if it had died ten seconds ago: it reports nothing, and nobody removes its row.
  next.kill('SIGSTOP');
  const fails = `update workers set failing = '{imports queue}', is_stopping = $2 where pid = $1`;
  const shown = async (isStopping: boolean) => {
    await service.pool.query(fails, [next.pid, isStopping]);
    return (await ask(service)).stdout;
  };
  await waitFor(async () => / failing: imports queue /.test(await shown(false)), { what: 'what fails' });
  await waitFor(async () => / stopping, failing: imports queue /.test(await shown(true)), { what: 'both' });
  const late = `update workers set seen_at = seen_at - interval '11 seconds' where pid = $1`;
  // Its last report may still have been on its way.
  const isGone = async () => {
    await service.pool.query(late, [next.pid]);
    return (await listed(service)).every(({ pid }) => pid !== next.pid);
  };
  await waitFor(isGone, { what: 'the silent worker to be gone' });
  assert.deepEqual(
    (await listed(service)).map(({ pid }) => pid),
    [mailer.pid],
  );
  next.kill('SIGCONT');
  await waitFor(rate, { what: 'the worker to be listed again' });
});
