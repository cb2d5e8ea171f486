/** Runs the containers' commands, settings and health checks as local processes. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.ts';
import { baseEnv } from '../support/processes/base-env.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { composeFile, environmentOf, type Service } from './compose.ts';
import { startComposeRedis, startRoleDatabase } from './stores.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SECRETS = {
  POSTGRES_PASSWORD: 'unused',
  POSTGRES_ADMIN_PASSWORD: 'unused',
  REDIS_PASSWORD: randomBytes(12).toString('hex'),
  ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  BOOTSTRAP_TOKEN: randomBytes(24).toString('hex'),
};

function run([program, ...args]: string[], env: Record<string, string> = {}): ChildProcess {
  assert.equal(program, 'node');
  return spawn(process.execPath, args, { cwd: ROOT, env: { ...baseEnv(), ...env }, stdio: 'ignore' });
}

async function status(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'exit');
  return child.exitCode;
}

test('api and worker of docker-compose.yml become healthy, respond, and stop with status 0', async (t) => {
  if (!requireOrSkip(t, 'redis') || !requireOrSkip(t, 'postgres')) return;
  const { services } = composeFile(SECRETS).file;
  const db = await startRoleDatabase(t);
  const redis = await startComposeRedis(t, services.redis as Service);
  assert.equal(redis.withoutPassword, false);
  const redisUrl = environmentOf(services.api as Service).REDIS_URL?.replace('redis:6379', `127.0.0.1:${redis.port}`);
  const ports = { api: String(await freePort()), worker: String(await freePort()), metrics: String(await freePort()) };
  const here = {
    DATABASE_URL: db.url,
    REDIS_URL: redisUrl as string,
    QUEUE_PREFIX: `deploy-${randomBytes(4).toString('hex')}`,
    HOST: '127.0.0.1',
    DATA_DIR: tmpdir(),
    PORT: ports.api,
    METRICS_PORT: ports.metrics,
    LOG_LEVEL: 'silent',
  };

  const start = (name: 'api' | 'worker') => {
    const service = services[name] as Service;
    const env = { ...environmentOf(service), ...here, HEALTH_PORT: name === 'worker' ? ports.worker : '0' };
    const child = run(service.command as string[], env);
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  const healthy = (name: 'api' | 'worker') => {
    const [kind, ...check] = (services[name] as Service).healthcheck?.test ?? [];
    assert.equal(kind, 'CMD');
    const command = check.map((word) => word.replace(name === 'api' ? ':8080/' : ':8081/', `:${ports[name]}/`));
    assert.notDeepEqual(command, check);
    return waitFor(async () => (await status(run(command))) === 0, { what: `a healthy ${name}`, timeoutMs: 180_000 });
  };

  const api = start('api');
  await healthy('api');
  const worker = start('worker');
  await healthy('worker');
  const answer = await fetch(`http://127.0.0.1:${ports.api}/management/v1/orgs/me`, {
    headers: { authorization: `Bearer ${SECRETS.BOOTSTRAP_TOKEN}` },
  });
  assert.equal(answer.status, 200);
  const scrape = (port: string) => fetch(`http://127.0.0.1:${port}/metrics`);
  assert.equal((await scrape(ports.api)).status, 404, 'the published port has no metrics');
  assert.equal((await scrape(ports.metrics)).status, 200);

  for (const child of [api, worker]) child.kill('SIGTERM');
  assert.deepEqual(await Promise.all([status(api), status(worker)]), [0, 0]);
});
