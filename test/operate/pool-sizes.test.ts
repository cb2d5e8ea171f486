/** `muster doctor` adds up the sizes of the pools that the processes open. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { connectionsOf, POOL_SIZES } from '../../src/platform/db/connections.ts';
import { freePort } from '../support/free-port.ts';
import { launch } from '../support/processes/launch.ts';
import { testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

test('the pools of an API and of a worker allow as many connections as their sizes say', async (t) => {
  const database = await testDatabase(t);
  t.after(() => database.drop());
  const [port, health] = [await freePort(), await freePort()];
  const env = { DATABASE_URL: database.url, ENCRYPTION_KEY: randomBytes(32).toString('base64') };
  const api = launch(t, 'src/start/api.ts', { ...env, PORT: String(port) });
  const worker = launch(t, 'workers/all-in-one.ts', { ...env, HEALTH_PORT: String(health) });
  const areReady = () => api.log().includes('api is ready') && worker.log().includes('worker is ready');
  await waitFor(areReady, { what: 'both processes', timeoutMs: 60_000 });

  // The API listens for progress on a connection without a pool.
  await waitFor(async () => (await mostOpen(port)) === connectionsOf('api', 'postgres') - POOL_SIZES.signal, {
    what: 'the pools of the API',
  });
  await waitFor(async () => (await mostOpen(health)) === connectionsOf('worker', 'postgres'), {
    what: 'the pools of the worker',
  });
  for (const one of [api, worker]) one.kill('SIGTERM');
  assert.deepEqual([await api.ended, await worker.ended], [0, 0]);
});

/** The most connections that the pools of a process open, by its `/metrics`. */
async function mostOpen(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const sizes = [...text.matchAll(/^muster_db_pool_max_connections\{pool="[^"]*"\} (\d+)$/gm)];
  return sizes.reduce((sum, [, size]) => sum + Number(size), 0);
}
