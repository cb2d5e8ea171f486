/** A database that takes no writes: a server that was made read-only, and a replica before its promotion. */
import assert from 'node:assert/strict';
import test from 'node:test';
import express from 'express';
import pino from 'pino';
import { readConfig } from '../../src/platform/config.ts';
import { openPool } from '../../src/platform/db/pool.ts';
import { publicError } from '../../src/platform/http/errors.ts';
import { healthRoutes } from '../../src/platform/http/health.ts';
import { requestId } from '../../src/platform/http/requests.ts';
import { listen } from '../../src/platform/http/server.ts';
import { openCondition } from '../../src/platform/lifecycle.ts';
import { prepareDatabase } from '../../src/start/database.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { must, onOneBackend, startService } from '../support/processes/service.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { startDistributionServer, startReplica } from '../support/stores/distribution.ts';
import { waitFor } from '../support/wait.ts';

async function readiness(url: string): Promise<{ status: number; parts: string[] }> {
  const answer = await fetch(`${url}/readyz`);
  const { failing = [] } = (await answer.json()) as { failing?: { part: string }[] };
  return { status: answer.status, parts: failing.map(({ part }) => part) };
}

onOneBackend(
  'a server that was made read-only is not ready, and continues when it takes writes',
  async (t, backend) => {
    if (!requireOrSkip(t, 'postgres')) return;
    const server = await startDistributionServer();
    const pool = openPool(server.url, { max: 2 });
    const onStopped = async () => {
      await pool.end();
      await server.stop();
    };
    const service = await startService(t, { backend, database: { url: server.url, pool }, onStopped });
    const { orgId } = await service.newOrg();
    const setReadOnly = async (value: 'on' | 'off') => {
      await pool.query(`alter system set default_transaction_read_only = ${value}`);
      await pool.query('select pg_reload_conf()');
    };

    await setReadOnly('on');
    await waitFor(async () => (await readiness(service.url)).status === 503, { what: '/readyz to tell it' });
    assert.deepEqual((await readiness(service.url)).parts, ['database']);
    const refused = await service.call('POST', '/management/v1/orgs', { name: 'New' });
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.equal((await service.importBody(bulk(orgId, people('a', 3)))).status, 503);

    await setReadOnly('off');
    await waitFor(async () => (await readiness(service.url)).status === 200, { what: 'the service to be ready again' });
    const { importId } = (await must(service.importBody(bulk(orgId, people('b', 3))))).body;
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
  },
);

test('a replica is not ready until its promotion, and no process starts on it', async (t) => {
  if (!requireOrSkip(t, 'postgres')) return;
  const primary = await startDistributionServer();
  t.after(() => primary.stop());
  const replica = await startReplica(primary);
  t.after(() => replica.stop());
  const pool = openPool(replica.url, { max: 2 });
  const condition = openCondition();
  const app = express().use(requestId(), healthRoutes({ pool, condition, logger: pino({ level: 'silent' }) }));
  const api = await listen(app, { host: '127.0.0.1', port: 0 });
  t.after(async () => {
    await api.stop(0);
    await pool.end();
  });
  const url = `http://127.0.0.1:${api.port}`;

  assert.deepEqual(await readiness(url), { status: 503, parts: ['database'] });
  const error = await pool.query('create table t (id int)').catch((e) => e);
  assert.equal(publicError(error).http, 503);
  await assert.rejects(prepareDatabase(replica.url, readConfig({})), /takes no writes/);

  await pool.query('select pg_promote()');
  assert.deepEqual(await readiness(url), { status: 200, parts: [] });
  await pool.query('create table t (id int)');
});
