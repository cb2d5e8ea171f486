/**
 * Prometheus scrapes an API and a worker during an import: its numbers are the numbers of the result, every query of the
 * dashboard works, and each alert fires on its fault; most are also seen to end with it.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { parse } from 'yaml';
import { openPool } from '../../../src/platform/db/pool.ts';
import { dashboardQueries } from '../../deploy/dashboard.ts';
import { freePort } from '../../support/free-port.ts';
import { bulk, people, unverified } from '../../support/imports/bodies.ts';
import { holdImport, holdWriting } from '../../support/imports/hold.ts';
import { must, startService } from '../../support/processes/service.ts';
import { startPrometheus } from '../../support/prometheus.ts';
import { findProgram, requireOrSkip } from '../../support/runner/programs.ts';
import { startTestServer } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const USERS = 500;
const MAILS = 20;
const LIBFAKETIME = '/usr/lib/*/faketime/libfaketimeMT.so.1';
const RULES = new URL('../../../deploy/prometheus/alerts.yml', import.meta.url);

/** The rules of `deploy/`, which fire at once: `promtool test rules` tests their times. */
function impatientRules() {
  const file = parse(readFileSync(RULES, 'utf8'));
  for (const rule of file.groups[0].rules) {
    rule.for = '0s';
    rule.expr = rule.expr.replace(/> (?:300|900)$/, '> 1');
  }
  return file;
}

test('Prometheus sees an import and its faults', async (t) => {
  if (!requireOrSkip(t, 'prometheus')) return;
  const server = await startTestServer();
  const pool = openPool(server.url, { max: 4 });
  const healthPort = await freePort();
  const workerEnv = { HEALTH_PORT: String(healthPort) };
  let isServing = true;
  const stopServer = async () => {
    if (!isServing) return;
    isServing = false;
    await pool.end();
    await server.stop();
  };
  const service = await startService(t, {
    backend: findProgram('redis') ? 'redis' : 'postgres',
    workers: 0,
    ownProcesses: true,
    database: { url: server.url, pool },
    onStopped: stopServer,
  });
  const { orgId } = await service.newOrg();
  const worker = await service.startWorker(workerEnv);
  const targets = [new URL(service.url).host, `127.0.0.1:${healthPort}`];
  const prometheus = await startPrometheus(t, targets, impatientRules());

  const until = (expr: string, expected: number) =>
    waitFor(async () => (await prometheus.value(expr)) === expected, { what: `${expr} = ${expected}` });
  const firing = async (alert: string) =>
    (await prometheus.query(`ALERTS{alertname="${alert}", alertstate="firing"}`)).length > 0;
  const fires = (alert: string) => waitFor(() => firing(alert), { what: `${alert} to fire`, timeoutMs: 120_000 });
  const ends = (alert: string) =>
    waitFor(async () => !(await firing(alert)), { what: `${alert} to end`, timeoutMs: 120_000 });
  const submit = async (users: unknown[]): Promise<string> =>
    (await must(service.importBody(bulk(orgId, users)))).body.importId;

  await t.test('the numbers are those of the result', async () => {
    const users = [...people('p', USERS - 3), ...unverified('m', MAILS), ...people('p', 2), 7];
    const { state, counts } = await service.waitForEnd(await submit(users));
    assert.deepEqual(
      [state, counts.succeeded, counts.failed],
      ['IMPORT_STATE_COMPLETED_WITH_ERRORS', USERS - 3 + MAILS, 3],
    );
    await until('sum(muster_import_users_total{outcome="succeeded"})', counts.succeeded);
    await until('sum(muster_import_users_total{outcome="failed"})', counts.failed);
    await until('sum(muster_import_batch_users_sum)', counts.succeeded);
    await until('sum(muster_imports_ended_total{state="completed_with_errors"})', 1);
    await until('sum(muster_import_duration_seconds_count{kind="bulk"})', 1);
    await until('sum(muster_mail_attempts_total{outcome="sent"})', MAILS);
    await until('max(muster_import_items_pending)', 0);
    await until('max(muster_mails_pending)', 0);
    await until('max(muster_workers{queue="imports"})', 1);
    await until('max(muster_leases_held{duty="dispatcher"})', 1);
    await until('count(muster_build_info)', 2);
    await until('count(abs(muster_clock_skew_seconds) < 5)', 2);
    assert.ok(((await prometheus.value('sum(muster_queue_lag_seconds_count)')) ?? 0) > 0);
  });

  await t.test('every query of the dashboard works', async () => {
    for (const expr of dashboardQueries()) await prometheus.query(expr);
  });

  await t.test('MusterImportStalled: an import is held by a lock', async () => {
    const writing = await holdWriting(pool);
    const importId = await submit(people('s', 5));
    const release = await holdImport(pool, importId);
    await writing.commit();
    await fires('MusterImportStalled');
    await waitFor(async () => ((await prometheus.value('sum(muster_import_rescues_total)')) ?? 0) > 0, {
      what: 'a rescue',
    });
    await release();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await ends('MusterImportStalled');
  });

  await t.test('MusterOutboxAge: the mail server refuses mails', async () => {
    service.smtp.refuse({ after: 'RCPT TO', code: 451, times: Number.POSITIVE_INFINITY });
    await service.waitForEnd(await submit(unverified('o', 3)));
    await fires('MusterOutboxAge');
    assert.ok(((await prometheus.value('sum(muster_mail_attempts_total{outcome="retry"})')) ?? 0) > 0);
    service.smtp.refuse({ after: 'RCPT TO', code: 451, times: 0 });
    await pool.query(`update mail_outbox set next_attempt_at = now() where state = 'pending'`);
    await ends('MusterOutboxAge');
  });

  await t.test('MusterBacklogWithoutWorkers, MusterProcessDown: the worker stops', async () => {
    worker.kill('SIGTERM');
    await worker.exited;
    await submit(people('b', 5));
    await fires('MusterBacklogWithoutWorkers');
    await fires('MusterProcessDown');
  });

  await t.test('MusterClockSkew: the next worker has a wrong clock; it works all the same', async (t) => {
    const [library] = globSync(LIBFAKETIME);
    const clock = { LD_PRELOAD: library ?? '', FAKETIME: '+2h', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
    await service.startWorker({ ...workerEnv, ...(library ? clock : {}) });
    await ends('MusterBacklogWithoutWorkers');
    await ends('MusterProcessDown');
    if (!library) return t.skip(`${LIBFAKETIME} is not on this machine`);
    await fires('MusterClockSkew');
    const skew = await prometheus.value('max(muster_clock_skew_seconds)');
    assert.ok(skew && Math.abs(skew - 7200) < 60, String(skew));
  });

  await t.test('MusterErrorRate, MusterStoreUnreadable: PostgreSQL stops', async () => {
    await stopServer();
    const failing = async () => {
      assert.equal((await service.call('GET', '/admin/v1/imports')).status, 503);
      return firing('MusterErrorRate');
    };
    await waitFor(failing, { what: 'MusterErrorRate to fire', timeoutMs: 120_000 });
    await fires('MusterStoreUnreadable');
  });
});
