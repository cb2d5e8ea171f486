/** The stores of docker-compose.yml as local servers: PostgreSQL with deploy/postgres-role.sql, Redis with its command. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { baseEnv } from '../support/processes/base-env.ts';
import { startTestServer } from '../support/stores/postgres.ts';
import { redisProgram } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait.ts';
import { read, type Service } from './compose.ts';

export interface RoleDatabase {
  /** The address with which Muster connects. */
  url: string;
  role: string;
  /** Runs SQL as the superuser; returns the output of psql. */
  asAdmin(sql: string, env?: Record<string, string>): string;
}

/** A server on which the role was set up as in the container. The name differs, as the superuser here is `muster`. */
export async function startRoleDatabase(t: TestContext): Promise<RoleDatabase> {
  const server = await startTestServer();
  t.after(() => server.stop());
  const role = `role_${randomBytes(4).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  const asAdmin = (sql: string, env: Record<string, string> = {}) => {
    const options = [
      '--no-psqlrc',
      '--tuples-only',
      '--no-align',
      '-v',
      'ON_ERROR_STOP=1',
      '-d',
      server.url,
      '-f',
      '-',
    ];
    const done = spawnSync('psql', options, { input: sql, encoding: 'utf8', env: { ...baseEnv(), ...env } });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout.trim();
  };
  asAdmin(read('deploy/postgres-role.sql').replaceAll(/\bmuster\b/g, role), { MUSTER_PASSWORD: password });
  const url = new URL(server.url);
  Object.assign(url, { username: role, password, pathname: `/${role}` });
  return { url: url.href, role, asAdmin };
}

/** The Redis of the container's command, with a folder of its own. Its health check must succeed. */
export async function startComposeRedis(t: TestContext, { command = [], environment, healthcheck }: Service) {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'muster-redis-'));
  const options = [...command.slice(1), '--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder];
  const child = spawn(redisProgram(), options, { stdio: 'ignore' });
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    await rm(folder, { recursive: true });
  });
  const [kind, check = ''] = healthcheck?.test ?? [];
  assert.equal(kind, 'CMD-SHELL');
  const isHealthy = (env: Record<string, string>) =>
    spawnSync('sh', ['-c', check.replace('redis-cli', `redis-cli -p ${port}`)], { env: { ...baseEnv(), ...env } })
      .status === 0;
  await waitFor(() => isHealthy(environment as Record<string, string>), { what: 'a healthy Redis' });
  return { port, withoutPassword: isHealthy({}) };
}
