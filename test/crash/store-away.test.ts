/**
 * Workers whose stores are absent, unreachable or killed: they continue when the stores are back, and their log stays
 * short.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/platform/db/embedded/embedded.ts';
import { openPool, type Pool } from '../../src/platform/db/pool.ts';
import { bulk, unverified } from '../support/imports/bodies.ts';
import { waitingBatches } from '../support/imports/hold.ts';
import { assertEachOnce } from '../support/imports/outcome.ts';
import type { TestProcess } from '../support/processes/child.ts';
import { warnings } from '../support/processes/launch.ts';
import { must, onEachBackend, type Service, startService } from '../support/processes/service.ts';
import { startGate } from '../support/stores/gate.ts';
import { redisUrl, requireOrSkip } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 60;
const ENV = { JOB_LOCK_MS: '1000', RESCUE_AFTER_MS: '1000', WORKER_CONCURRENCY: '20' };
/** A busy loop would log as many lines in a few milliseconds. */
const MOST_LINES = 150;

onEachBackend('a worker that is started while its queue is unavailable', async (t, backend) => {
  const service = await startService(t, { ownProcesses: true, backend, workers: 0, env: ENV });
  const { orgId } = await service.newOrg();
  const gate = await startGate(backend === 'redis' ? (redisUrl() as string) : urlOf(service.pool), 'reset');
  t.after(() => gate.stop());
  const starting = service.startWorker({ [backend === 'redis' ? 'REDIS_URL' : 'DATABASE_URL']: gate.url });
  const importId = await submit(service, orgId, 'a');
  await waitFor(() => gate.resets > 5, { what: 'the worker to try', timeoutMs: 60_000 });
  await gate.open();
  assertShortLog(await starting);
  assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
  await assertEachOnce(service, importId, { users: USERS, mails: USERS });
});

onEachBackend('a worker all of whose connections to PostgreSQL are ended', async (t, backend) => {
  const service = await startService(t, { ownProcesses: true, backend, workers: 0, env: ENV });
  const { orgId } = await service.newOrg();
  const worker = await service.startWorker();
  const importId = await submitHeld(service, worker, orgId, 'b', async () => {
    await waitingBatches(service.pool, 1);
    for (let round = 0; round < 3; round++) await endConnections(service.pool);
  });
  assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
  await assertEachOnce(service, importId, { users: USERS, mails: USERS });
  if (backend === 'postgres')
    await waitFor(() => listens(service), { what: 'the worker to listen again', timeoutMs: 30_000 });

  await t.test('ends imports at their deadline as before', async () => {
    const late = await submitHeld(service, worker, orgId, 'c', () => pastDeadline(service.pool), '2s');
    assert.equal((await service.waitForEnd(late)).state, 'IMPORT_STATE_TIMED_OUT');
  });
  assertShortLog(worker);
});

onEachBackend('a PostgreSQL that is killed during an import', async (t, backend) => {
  const { server, pool, options } = await ownPostgres();
  const service = await startService(t, { ownProcesses: true, backend, workers: 0, env: ENV, ...options });
  const { orgId } = await service.newOrg();
  const worker = await service.startWorker();
  const importId = await submitHeld(service, worker, orgId, 'd', async () => {
    await waitingBatches(pool, 1);
    const started = await startOf(pool);
    process.kill(server.pid, 'SIGKILL');
    await waitFor(async () => (await startOf(pool)) > started, { what: 'PostgreSQL to be back', timeoutMs: 60_000 });
  });
  assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
  assert.equal((await must(service.call('GET', '/readyz'))).body.status, 'ok');
  assertShortLog(worker);
});

test('a dispatcher whose queue refuses everything leaves its duty to another process, and its log stays short', async (t) => {
  let dropRole = async () => {};
  const service = await startService(t, {
    ownProcesses: true,
    backend: 'postgres',
    workers: 0,
    env: ENV,
    onStopped: () => dropRole(),
  });
  const { orgId } = await service.newOrg();
  const role = await lesserRole(service.pool);
  dropRole = role.drop;
  const refused = await service.startWorker({ WORKER_ROLES: 'import,dispatch', DATABASE_URL: role.url });
  const first = await submit(service, orgId, 'g');
  assert.equal((await service.waitForEnd(first)).state, 'IMPORT_STATE_SUCCEEDED');
  await service.pool.query(`revoke all on schema bullmq from ${role.name}`);
  const importId = await submit(service, orgId, 'h');
  await service.startWorker();
  assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
  assert.ok(!refused.isOver);
  assertShortLog(refused);
});

test('a dispatcher that cannot reach the queue leaves its duty to another process', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const service = await startService(t, { ownProcesses: true, backend: 'redis', workers: 0, env: ENV });
  const { orgId } = await service.newOrg();
  const gate = await startGate(redisUrl() as string);
  t.after(() => gate.stop());
  await gate.open();
  const cutOff = await service.startWorker({ WORKER_ROLES: 'import,dispatch', REDIS_URL: gate.url });
  const first = await submit(service, orgId, 'e');
  assert.equal((await service.waitForEnd(first)).state, 'IMPORT_STATE_SUCCEEDED');
  await gate.shut('reset');
  const importId = await submit(service, orgId, 'f');
  await service.startWorker();
  assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
  assert.ok(!cutOff.isOver);
  assertShortLog(cutOff);
});

async function submit(service: Service, orgId: string, prefix: string, timeout?: string): Promise<string> {
  return (await must(service.importBody(bulk(orgId, unverified(prefix, USERS), timeout)))).body.importId;
}

/** Starts an import whose users cannot be written while `strike` runs. */
async function submitHeld(
  service: Service,
  worker: TestProcess,
  orgId: string,
  prefix: string,
  strike: () => Promise<unknown>,
  timeout?: string,
): Promise<string> {
  worker.kill('SIGSTOP');
  const importId = await submit(service, orgId, prefix, timeout);
  const release = await hold(service.pool, importId);
  worker.kill('SIGCONT');
  await strike();
  await release();
  return importId;
}

/** Like holdImport, on a connection that may be lost. */
async function hold(pool: Pool, importId: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: urlOf(pool), application_name: 'test' });
  client.on('error', () => {}); // PostgreSQL fails while the lock is held
  await client.connect();
  await client.query('begin');
  await client.query('select from imports where id = $1 for update', [importId]);
  return () => client.end();
}

function assertShortLog(worker: TestProcess): void {
  const lines = warnings(worker.output()).length;
  assert.ok(lines < MOST_LINES, `${lines} lines: ${worker.output().slice(-3000)}`);
}

/** Without those of the API, which is not under test. */
async function endConnections(pool: Pool): Promise<void> {
  await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name <> ''
      and application_name not in ('muster-api', 'muster-signal', 'test')`);
}

async function listens({ pool, queuePrefix }: Service): Promise<boolean> {
  const { rowCount } = await pool.query('select from pg_stat_activity where application_name = $1', [
    `${queuePrefix}-imports`,
  ]);
  return rowCount === 1;
}

async function pastDeadline(pool: Pool): Promise<void> {
  const isPast = async () =>
    (await pool.query(`select from imports where state = 'running' and deadline < clock_timestamp()`)).rowCount === 1;
  await waitFor(isPast, { what: 'the deadline', timeoutMs: 30_000 });
}

/** A role with the rights of a worker, which the test can revoke. */
async function lesserRole(pool: Pool): Promise<{ name: string; url: string; drop(): Promise<void> }> {
  const name = `worker_${randomBytes(4).toString('hex')}`;
  await pool.query(`create role ${name} login password 'worker'`);
  for (const schema of ['public', 'bullmq']) {
    await pool.query(`grant all on schema ${schema} to ${name}`);
    for (const what of ['tables', 'sequences', 'functions'])
      await pool.query(`grant all on all ${what} in schema ${schema} to ${name}`);
  }
  const url = new URL(urlOf(pool));
  url.username = name;
  url.password = 'worker';
  // When the role's database is gone.
  const drop = async () => {
    const server = new URL(urlOf(pool));
    server.pathname = '/postgres';
    const client = new pg.Client({ connectionString: server.toString() });
    await client.connect();
    await client.query(`drop role ${name}`);
    await client.end();
  };
  return { name, url: url.toString(), drop };
}

function urlOf(pool: Pool): string {
  return (pool as Pool & { options: { connectionString: string } }).options.connectionString;
}

/** A separate server; a commit survives a crash of the server, though not of the machine. */
async function ownPostgres() {
  const dataDir = join(tmpdir(), `muster-away-${randomBytes(4).toString('hex')}`);
  const settings = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'on' };
  const server = await startEmbeddedPostgres({ dataDir, settings, background: true });
  const pool = openPool(server.url, { max: 3, name: 'test' });
  const stop = async () => {
    await pool.end();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { server, pool, options: { database: { url: server.url, pool }, onStopped: stop } };
}

async function startOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ at: Date }>('select pg_postmaster_start_time() as at');
  return rows[0]?.at.getTime() ?? 0;
}
