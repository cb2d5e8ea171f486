/** METRICS_PORT takes `/metrics` of the API off the public port. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { freePort } from '../support/free-port.ts';
import { launch } from '../support/processes/launch.ts';
import { testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

test('with METRICS_PORT, metrics of all requests are on that port only, with METRICS_TOKEN', async (t) => {
  const database = await testDatabase(t);
  t.after(() => database.drop());
  const [port, metricsPort] = [await freePort(), await freePort()];
  const token = randomBytes(24).toString('hex');
  const api = launch(t, 'src/start/api.ts', {
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    BOOTSTRAP_TOKEN: randomBytes(24).toString('hex'),
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    METRICS_TOKEN: token,
  });
  await waitFor(() => api.log().includes('api is ready'), { what: 'the API', timeoutMs: 60_000 });
  const get = (at: number, path: string, bearer = token) =>
    fetch(`http://127.0.0.1:${at}${path}`, { headers: { authorization: `Bearer ${bearer}` } });

  assert.equal((await get(port, '/metrics')).status, 404);
  assert.equal((await get(port, '/healthz')).status, 200);
  assert.equal((await get(metricsPort, '/metrics', 'x')).status, 401);
  for (const path of ['/healthz', '/admin/v1/imports', '/']) assert.equal((await get(metricsPort, path)).status, 404);
  const metrics = await get(metricsPort, '/metrics');
  assert.equal(metrics.headers.get('x-content-type-options'), 'nosniff');
  const text = await metrics.text();
  assert.match(text, /^http_requests_total\{method="GET",route="\/healthz",status="2xx"\} 1$/m);
  assert.match(text, /^muster_mails_pending 0$/m);

  api.kill('SIGTERM');
  assert.equal(await api.ended, 0);
});
