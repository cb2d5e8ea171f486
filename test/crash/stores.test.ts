/** Stores that fail in mid-drain: a queue that forgets everything, a PostgreSQL that restarts or crashes. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/platform/db/embedded/embedded.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { bulk, unverified } from '../support/imports/bodies.ts';
import { beginHeld, moreUsers, waitingBatches } from '../support/imports/hold.ts';
import { assertEachOnce, mailsByAddress } from '../support/imports/outcome.ts';
import { must, onEachBackend, type Service, startService } from '../support/processes/service.ts';
import { startDistributionServer } from '../support/stores/distribution.ts';
import { redisProgram, startRedis } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 600;
const SLOW = { WORKER_CONCURRENCY: '3', RESCUE_AFTER_MS: '1000', JOB_LOCK_MS: '3000' };

onEachBackend('a queue that forgets everything', async (t, backend) => {
  const own = backend === 'redis' ? await ownRedis() : undefined;
  const service = await startService(t, { ownProcesses: true, backend, workers: 0, env: SLOW, ...own?.options });
  const org = await service.newOrg();
  await service.startWorker({ WORKER_ROLES: 'import,dispatch,rescue' });

  await t.test('in mid-drain loses no user and duplicates none', async () => {
    const body = bulk(org.orgId, unverified('f', USERS));
    const thirds = [USERS / 3, (2 * USERS) / 3];
    const { importId, gates } = await beginHeld(service, body, thirds);
    for (const [i, gate] of gates.entries()) {
      await moreUsers(service.pool, importId, i === 0 ? 0 : thirds[i - 1]);
      await waitingBatches(service.pool, 1);
      await (own ? forget(own.redis) : service.loseJobs());
      await gate.commit();
    }
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await service.startWorker({ WORKER_ROLES: 'mail' });
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
    assertOneMailEach(service, USERS);
  });

  await t.test('leaves the service working', async () => {
    const { importId } = (await must(service.importBody(bulk(org.orgId, unverified('g', 50))))).body;
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: 50, mails: 50 });
  });
});

onEachBackend('a PostgreSQL', async (t, backend) => {
  const { server, pool, options } = await ownPostgres();
  const service = await startService(t, { ownProcesses: true, backend, workers: 0, env: SLOW, ...options });
  const org = await service.newOrg();
  await service.startWorker();

  for (const [what, strike] of [
    ['restarts', async () => process.kill(server.pid, 'SIGINT')],
    ['crashes', async () => process.kill(await writersPid(pool), 'SIGKILL')],
  ] as const) {
    await t.test(`that ${what} in mid-drain is waited for, and nothing is lost or duplicated`, async () => {
      service.smtp.mails.length = 0;
      const { importId, gates } = await beginHeld(service, bulk(org.orgId, unverified(what, USERS)), [USERS / 2]);
      await moreUsers(pool, importId);
      await waitingBatches(pool, 1);
      const started = await startOf(pool);
      await strike();
      await waitFor(async () => (await startOf(pool)) > started, { what: 'PostgreSQL to be back' });
      // Its lock ended with the server.
      for (const gate of gates) gate.abandon();
      assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
      // This queue may lose its most recent jobs; such mails are added again after a while. Wait until that has
      // happened.
      if (what === 'crashes' && backend === 'postgres')
        await pool.query(`update mail_outbox set next_attempt_at = now() where state = 'pending'`);
      await assertEachOnce(service, importId, { users: USERS, mails: USERS });
      const byAddress = Map.groupBy(service.smtp.mails, (m) => m.to.join());
      assert.equal(byAddress.size, USERS);
      // Mails whose outcome could not be recorded are delivered again, byte for byte the same.
      for (const same of byAddress.values()) assert.equal(new Set(same.map((m) => m.raw.toString('latin1'))).size, 1);
    });
  }
});

function assertOneMailEach(service: Service, mails: number): void {
  const counts = mailsByAddress(service);
  assert.deepEqual([counts.size, new Set(counts.values())], [mails, new Set([1])]);
}

/** A Redis for this test alone, as the test deletes everything in it. */
async function ownRedis() {
  const server = await startRedis(redisProgram());
  const redis = new Redis(server.url);
  const stop = async () => {
    redis.disconnect();
    await server.stop();
  };
  return { redis, options: { redisUrl: server.url, onStopped: stop } };
}

/** As after a restart of a Redis that keeps nothing on disk. */
async function forget(redis: Redis): Promise<void> {
  await redis.flushall();
  await redis.script('FLUSH');
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
}

/** A separate server of the same kind as that of the test run. */
async function ownPostgres() {
  const server = await (process.env.TEST_OWN_POSTGRES === 'distribution' ? startDistributionServer() : startEmbedded());
  const pool = new pg.Pool({ connectionString: server.url, max: 5 });
  pool.on('error', () => {}); // the server will be unavailable
  const stop = async () => {
    await pool.end();
    await server.stop();
  };
  return { server, pool, options: { database: { url: server.url, pool }, onStopped: stop } };
}

/** A commit survives a crash of the server, though not of the machine. */
async function startEmbedded(): Promise<{ url: string; readonly pid: number; stop(): Promise<void> }> {
  const dataDir = join(tmpdir(), `muster-crash-${randomBytes(4).toString('hex')}`);
  const settings = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'on' };
  const server = await startEmbeddedPostgres({ dataDir, settings, background: true });
  return {
    url: server.url,
    get pid() {
      return server.pid;
    },
    async stop() {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** When the server last started, also after a crash. */
async function startOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ at: Date }>(
    `select greatest(pg_postmaster_start_time(), (select min(backend_start) from pg_stat_activity
       where backend_type = 'checkpointer')) as at`,
  );
  return rows[0]?.at.getTime() ?? 0;
}

async function writersPid(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>(
    `select pid from pg_stat_activity where application_name = 'muster-writer' limit 1`,
  );
  return rows[0]?.pid as number;
}
