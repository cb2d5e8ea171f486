/**
 * A Redis that answers reads and refuses writes, because its memory is full (OOM) or it cannot save to its disk
 * (MISCONF): imports are accepted and wait, `/readyz` and a few lines of the log name the reason, and everything
 * continues by itself when Redis writes again.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { Redis } from 'ioredis';
import { errorId } from '../support/answers.ts';
import { freePort } from '../support/free-port.ts';
import { bulk, people, unverified } from '../support/imports/bodies.ts';
import { holdImport, holdWriting, waitingBatches } from '../support/imports/hold.ts';
import { assertEachOnce, usersOf } from '../support/imports/outcome.ts';
import { warnings } from '../support/processes/launch.ts';
import { must, type Service, startService } from '../support/processes/service.ts';
import { redisProgram, requireOrSkip, startRedis } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 200;
/** Groups of repeated lines in the log of one process. */
const MOST_GROUPS = 15;

/** A fault of Redis, its repair, and how its error messages begin. */
interface Fault {
  says: string;
  strike(redis: Redis, dir: string): Promise<unknown>;
  repair(redis: Redis): Promise<unknown>;
}

const FAULTS: Record<string, Fault> = {
  'whose memory is full': {
    says: 'OOM',
    strike: (redis) => redis.config('SET', 'maxmemory', '1'),
    repair: (redis) => redis.config('SET', 'maxmemory', '0'),
  },
  'that cannot save to its disk': {
    says: 'MISCONF',
    async strike(redis, dir) {
      await rm(dir, { recursive: true });
      await redis.config('SET', 'save', '3600 1');
      await redis.bgsave();
      const failed = async () => (await redis.info('persistence')).includes('rdb_last_bgsave_status:err');
      await waitFor(failed, { what: 'a save that fails' });
    },
    repair: (redis) => redis.config('SET', 'save', ''),
  },
};

test('a Redis that refuses writes', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const dir = await mkdtemp(join(tmpdir(), 'muster-redis-'));
  const server = await startRedis(redisProgram(), ['--dir', dir]);
  const redis = new Redis(server.url);
  const service = await startService(t, {
    backend: 'redis',
    redisUrl: server.url,
    workers: 0,
    env: { RESCUE_AFTER_MS: '1000', JOB_LOCK_MS: '2000', SINGLE_IMPORT_TIMEOUT_MS: '1000', LOGIN_DELAY_MS: '0' },
    async onStopped() {
      await redis.config('SET', 'save', ''); // it does not end while it cannot save
      redis.disconnect();
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  });
  const port = await freePort();
  await service.startWorker({ HEALTH_PORT: `${port}` });
  const [api, worker] = [service.url, `http://127.0.0.1:${port}`];
  const { orgId, domain } = await service.newOrg();
  await service.imported(bulk(orgId, people('ann', 1)));
  const submit = async (name: string) =>
    (await must(service.importBody(bulk(orgId, unverified(name, USERS))))).body.importId as string;

  const unknown = await service.call('GET', '/nowhere', undefined, { url: worker });
  assert.deepEqual([unknown.status, errorId(unknown)], [404, 'REQUEST-PATH']);
  for (const [i, [what, { says, strike, repair }]] of Object.entries(FAULTS).entries()) {
    await t.test(`${what} delays imports, and nothing else`, async () => {
      const single = (name: string) =>
        service.call('POST', '/management/v1/users/human/_import', people(`${name}${i}`, 1)[0]?.user, { orgId });
      const writing = await holdWriting(service.pool);
      const running = await submit(`running${i}-`);
      const release = await holdImport(service.pool, running);
      await writing.commit();
      await waitingBatches(service.pool, 1);
      await strike(redis, dir);

      await waitFor(async () => (await failing(service, api)).includes('queue'), { what: 'the API to name the queue' });
      const namesAll = async () => {
        const parts = await failing(service, worker);
        return ['queue', 'imports queue', 'mails queue'].every((part) => parts.includes(part));
      };
      await waitFor(namesAll, { what: 'the worker to name its queues' });
      assert.equal((await service.call('GET', '/readyz', undefined, { url: api })).status, 200);
      assert.equal((await service.call('GET', '/readyz', undefined, { url: worker })).status, 503);
      const accepted = await submit(`accepted${i}-`);
      assert.equal((await service.login(`ann0@${domain}`, 'secret')).status, 201);
      assert.equal((await single('late')).status, 504);
      await release();
      await waitFor(async () => (await usersOf(service.pool, running)) > 0, { what: 'the batch in progress' });
      for (const one of service.processes) {
        const lines = warnings(one.output()).filter((line) => JSON.stringify(line).includes(says));
        const groups = lines.filter(({ repeats }) => repeats === undefined).length;
        assert.ok(groups > 0 && groups <= MOST_GROUPS, `${groups} groups of lines: ${JSON.stringify(lines)}`);
      }

      await repair(redis);
      for (const importId of [running, accepted]) {
        assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
        await assertEachOnce(service, importId, { users: USERS, mails: USERS });
      }
      const { rowCount } = await service.pool.query(`select from users where user_name_key = $1`, [`late${i}0`]);
      assert.equal(rowCount, 0);
      await waitFor(async () => (await single(`after${performance.now()}-`)).status === 200, {
        what: 'a single import',
      });
      for (const url of [api, worker])
        await waitFor(async () => (await failing(service, url)).length === 0, { what: `${url} to be ready` });
      await waitFor(async () => (await jobsIn(redis)).length === 0, { what: 'Redis to have no jobs left' });
    });
  }
});

async function failing(service: Service, url: string): Promise<string[]> {
  const { body } = await service.call('GET', '/readyz', undefined, { url });
  return (body.failing ?? []).map(({ part }: { part: string }) => part);
}

/** The keys of jobs; a job's id begins with the letter of its kind and a number. */
async function jobsIn(redis: Redis): Promise<string[]> {
  return (await redis.keys('*')).filter((key) => /:[a-z]\d+[^:]*$/.test(key));
}
