/** Watching an import: to its end, through broken connections and restarts, and until Ctrl-C. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { bulk, people } from '../../support/imports/bodies.ts';
import { runMuster } from '../../support/processes/muster.ts';
import { must, type Service, startService } from '../../support/processes/service.ts';
import { openTerminal, type Running, startMuster } from '../../support/processes/terminal.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { startCutProxy } from '../../support/stores/cut-proxy.ts';
import { waitFor } from '../../support/wait.ts';

const SHOW_CURSOR = '\x1b[?25h';
const HIDE_CURSOR = '\x1b[?25l';

interface Waiting {
  service: Service;
  importId: string;
  env: Record<string, string>;
}

/** An import that makes no progress until a worker is started. */
async function waitingImport(t: test.TestContext, count = 40): Promise<Waiting> {
  const service = await startService(t, { backend: 'postgres', workers: 0 });
  const org = await service.newOrg();
  const { importId } = (await must(service.importBody(bulk(org.orgId, people('w', count))))).body;
  return { service, importId, env: { MUSTER_URL: service.url, MUSTER_TOKEN: org.ownerToken } };
}

/** `muster status --watch --json`, once it is watching: a proxy detects that, as the command itself prints nothing. */
async function startSilent(t: test.TestContext, { service, importId, env }: Waiting): Promise<Running> {
  const proxy = await startCutProxy(service.url);
  t.after(proxy.stop);
  const silent = startMuster(['status', importId, '--watch', '--json'], { env: { ...env, MUSTER_URL: proxy.url } });
  await waitFor(() => proxy.answers().includes('text/event-stream'), { what: 'it to watch' });
  return silent;
}

/** Starts an API at the address of the previous one. */
async function restartApi({ service }: Waiting): Promise<void> {
  await service.startApi({ PORT: new URL(service.url).port });
}

test('a terminal shows a live bar until the end, then the result', async (t) => {
  if (!requireOrSkip(t, 'script')) return;
  const { service, importId, env } = await waitingImport(t);
  const terminal = openTerminal(t, ['status', importId, '--watch'], { env });
  await terminal.shows(/░ 0% {2}0\/40 users {2}0\/s/);
  assert.ok(terminal.output().includes(HIDE_CURSOR));
  await must(service.call('POST', `/admin/v1/imports/${importId}/_pause`));
  await terminal.shows(/0\/40 users .*paused/);
  await must(service.call('POST', `/admin/v1/imports/${importId}/_resume`, {}));
  await service.startWorker();
  assert.equal(await terminal.ended, 0);
  assert.match(terminal.text(), /█ 100% {2}40\/40 users .*\n+Import \d+: succeeded\n {2}users +40: 40 succeeded\n/);
  assert.ok(terminal.output().lastIndexOf(SHOW_CURSOR) > terminal.output().lastIndexOf(HIDE_CURSOR));
});

test('Ctrl-C stops watching, not the import', async (t) => {
  if (!requireOrSkip(t, 'script')) return;
  const { service, importId, env } = await waitingImport(t);
  const terminal = openTerminal(t, ['status', importId, '--watch'], { env });
  await terminal.shows(/0\/40 users/);
  terminal.type('\x03');
  assert.equal(await terminal.ended, 130);
  assert.match(terminal.text(), /No longer watching import \d+, which continues\./);
  assert.ok(terminal.text().includes(`muster status ${importId} --watch`));
  assert.ok(terminal.output().lastIndexOf(SHOW_CURSOR) > terminal.output().lastIndexOf(HIDE_CURSOR));
  const { body } = await must(service.call('GET', `/admin/v1/imports/${importId}`));
  assert.equal(body.state, 'IMPORT_STATE_RUNNING');
});

test('without a terminal, progress is lines on standard error, and an interruption is a JSON error', async (t) => {
  const waiting = await waitingImport(t);
  const { importId, env } = waiting;
  const plain = startMuster(['status', importId, '--watch'], { env });
  await waitFor(() => plain.stderr().includes('  0/40 users'), { what: 'the first line' });
  const silent = await startSilent(t, waiting);
  silent.kill('SIGINT');
  const { code, stdout, stderr } = await silent.finished;
  assert.deepEqual([code, stdout], [130, '']);
  const { error } = JSON.parse(stderr);
  assert.equal(error.exitCode, 130);
  assert.ok(error.advice.includes(`muster status ${importId} --watch`));

  const cancelling = await runMuster(['cancel', importId, '--watch', '--json'], { env });
  assert.deepEqual([cancelling.code, cancelling.stderr], [0, '']);
  assert.equal(JSON.parse(cancelling.stdout).state, 'IMPORT_STATE_CANCELLED');
  const end = await plain.finished;
  assert.equal(end.code, 6);
  assert.match(end.stdout, /: cancelled\n {2}users +40: 40 cancelled\n/);
});

test('watching survives a service that is killed and restarted, and reports it in one line', async (t) => {
  const waiting = await waitingImport(t);
  const { service, importId, env } = waiting;
  const plain = startMuster(['status', importId, '--watch'], { env });
  await waitFor(() => plain.stderr().includes('  0/40 users'), { what: 'the first line' });
  const silent = await startSilent(t, waiting);
  const [api] = service.apis;
  api?.kill('SIGKILL');
  await api?.exited;
  await waitFor(() => /cannot be reached: .*Trying again …/.test(plain.stderr()), { what: 'the report of the outage' });
  await restartApi(waiting);
  await service.startWorker();
  const { code, stdout, stderr } = await plain.finished;
  assert.equal(code, 0);
  assert.match(stdout, /succeeded\n {2}users +40: 40 succeeded/);
  assert.equal(stderr.match(/Trying again/g)?.length, 1);
  const last = await silent.finished;
  assert.deepEqual([last.code, last.stderr], [0, '']);
  assert.equal(JSON.parse(last.stdout).counts.succeeded, 40);
});

test('a terminal continues its bar when the service is back', async (t) => {
  if (!requireOrSkip(t, 'script')) return;
  const waiting = await waitingImport(t);
  const { service, importId, env } = waiting;
  const terminal = openTerminal(t, ['status', importId, '--watch'], { env });
  await terminal.shows(/0\/40 users/);
  const [api] = service.apis;
  api?.kill('SIGTERM');
  await api?.exited;
  await terminal.shows(/0\/40 users.*\n+.*cannot be reached: .* Trying again …\n$/);
  await restartApi(waiting);
  await terminal.shows(/Trying again …\n+.*0\/40 users/);
  await service.startWorker();
  assert.equal(await terminal.ended, 0);
});

test('an undo is watched to its end', async (t) => {
  const waiting = await waitingImport(t);
  await waiting.service.startWorker();
  await waiting.service.waitForEnd(waiting.importId);
  const { code, stdout } = await runMuster(['undo', waiting.importId, '--yes', '--watch'], { env: waiting.env });
  assert.equal(code, 0);
  assert.match(stdout, /: undone\n {2}users +40: 40 undone\n/);
});
