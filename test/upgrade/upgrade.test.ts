/**
 * The upgrade of docs/deployment.md, from the previous schema to this one, while callers import and log in: no request
 * fails, no user is lost, and processes of the old version work on the new schema, except with drafts, which wait for
 * processes of the new one.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import test, { type TestContext } from 'node:test';
import type { Pool } from '../../src/platform/db/pool.ts';
import { must, openCalls } from '../support/calls.ts';
import { baseEnv } from '../support/processes/base-env.ts';
import { startChild, type TestProcess } from '../support/processes/child.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { testDatabase } from '../support/stores/postgres.ts';
import { redisUrl } from '../support/stores/redis.ts';
import { keepDraft } from './draft.ts';
import { startLoad } from './load.ts';
import { newestMigration, oldVersion } from './old-version.ts';

/** The template of the tests has the new schema. */
async function empty(pool: Pool): Promise<void> {
  await pool.query(`do $$ declare s name; begin
    for s in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
      execute format('drop schema %I cascade', s);
    end loop;
    create schema public;
  end $$`);
}

const urlOf = (api: TestProcess) => `http://127.0.0.1:${api.ready.port}`;

/** @throws Error when it does not end cleanly */
async function stop(one: TestProcess): Promise<void> {
  one.kill('SIGTERM');
  assert.deepEqual(await one.exited, { code: 0, signal: null }, one.output());
}

async function migrate(env: Record<string, string>): Promise<void> {
  const child = spawn(process.execPath, ['src/start/migrate.ts'], { env: { ...baseEnv(), ...env }, stdio: 'inherit' });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
}

async function applied(pool: Pool): Promise<number> {
  return (await pool.query('select max(id) as n from migrations')).rows[0].n;
}

function startAll(t: TestContext, env: Record<string, string>) {
  const all: TestProcess[] = [];
  t.after(() => {
    for (const one of all) one.kill('SIGKILL');
  });
  return async (file: string, more: Record<string, string> = {}) => {
    const one = await startChild(file, { ...env, ...more });
    all.push(one);
    return one;
  };
}

// Old and new processes share the queue too, whose batched scripts are the programs' own.
for (const queue of ['Redis', 'PostgreSQL']) {
  test(`an upgrade under load, queue on ${queue}`, async (t) => {
    if (!requireOrSkip(t, 'git') || (queue === 'Redis' && !requireOrSkip(t, 'redis'))) return;
    const redis = { REDIS_URL: redisUrl() as string, QUEUE_PREFIX: `u${randomBytes(6).toString('hex')}` };
    await upgrade(t, queue === 'Redis' ? redis : {});
  });
}

async function upgrade(t: TestContext, queue: Record<string, string>): Promise<void> {
  const { url, pool, drop } = await testDatabase(t);
  t.after(drop);
  await empty(pool);
  const old = oldVersion();
  const token = randomBytes(24).toString('hex');
  const env = {
    DATABASE_URL: url,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    BOOTSTRAP_TOKEN: token,
    PORT: '0',
    RATE_LIMIT_REQUESTS: '0',
    RATE_LIMIT_LOGINS: '0',
    HASH_THREADS: '1',
    STOP_AFTER_MS: '300000',
    LOG_LEVEL: 'warn',
    ...queue,
  };
  const start = startAll(t, env);
  const oldApis = [await start(old.api), await start(old.api)];
  const [first] = oldApis as [TestProcess];
  const worker = { BASE_URL: urlOf(first) };
  const oldWorker = await start(old.worker, worker);
  assert.equal(await applied(pool), old.newest);
  const org = { name: 'Acme', orgId: 'acme' };
  await must(openCalls(() => urlOf(first), token).call('POST', '/management/v1/orgs', org));

  const load = startLoad(token, org.orgId);
  for (const api of oldApis) load.add(urlOf(api));
  await load.rounds(2);
  const draft = await keepDraft(urlOf(first), token, org.orgId);

  await migrate(env);
  assert.equal(await applied(pool), newestMigration());
  await load.rounds(2);
  await draft.isHiddenBy(urlOf(first));

  let newUrl = '';
  for (const api of oldApis) {
    newUrl = urlOf(await start('src/start/api.ts'));
    load.add(newUrl);
    await load.rounds(1); // both versions
    await load.remove(urlOf(api));
    await stop(api);
  }
  await start('workers/all-in-one.ts', worker);
  const drafted = await draft.finish(newUrl);
  await load.rounds(1);
  await stop(oldWorker);
  await load.rounds(2);

  const users = await load.stop();
  const { rows } = await pool.query(`select count(*)::int as n from users where org_id = $1`, [org.orgId]);
  assert.equal(rows[0].n, users + drafted);
  const { rows: open } = await pool.query(`select id, state from imports where state <> 'succeeded'`);
  assert.deepEqual(open, []);
}
