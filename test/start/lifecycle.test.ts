import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import test from 'node:test';
import { readConfig } from '../../src/platform/config.ts';
import { requireNode, requireStores } from '../../src/platform/lifecycle.ts';
import { waitFor } from '../support/wait.ts';

interface Process {
  child: ChildProcess;
  output: () => string;
  /** Exit status, or the signal. */
  ended: Promise<number | string>;
}

function start(manner: string): Process {
  const child = fork(new URL('./stand-in-process.ts', import.meta.url), [manner], { silent: true, execArgv: [] });
  let output = '';
  child.stdout?.on('data', (text) => {
    output += text;
  });
  child.stderr?.on('data', (text) => {
    output += text;
  });
  return { child, output: () => output, ended: once(child, 'close').then(([code, signal]) => code ?? signal) };
}

async function startReady(manner: string): Promise<Process> {
  const started = start(manner);
  assert.deepEqual((await once(started.child, 'message'))[0], { ready: true, url: 'http://here' });
  return started;
}

/** Waits until a second signal no longer counts as the first one. */
async function pastTheFirstSignal({ output }: Process): Promise<void> {
  await waitFor(() => output().includes('stand-in stops'), { what: 'the first signal' });
  const at = performance.now();
  await waitFor(() => performance.now() - at > 350, { what: 'the time in which a signal counts as repeated' });
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  test(`${signal} drains and ends with status 0`, async () => {
    const p = await startReady('drains');
    p.child.kill(signal);
    assert.equal(await p.ended, 0);
    assert.ok(!p.output().includes('forced'));
  });
}

test('a parent may ask over IPC in addition to the signal to the group', async () => {
  const p = await startReady('drains');
  p.child.kill('SIGTERM');
  p.child.send({ stop: true }, () => {});
  assert.equal(await p.ended, 0);
  const asked = await startReady('drains');
  asked.child.send({ stop: true });
  assert.equal(await asked.ended, 0);
});

test('the loss of the parent stops the process like a signal', async () => {
  const p = await startReady('drains');
  const exited = once(p.child, 'exit');
  p.child.disconnect();
  assert.deepEqual(await exited, [0, null]);
});

test('a repeated first signal does not force the exit; a second one does, at once and with status 1', async () => {
  const p = await startReady('hangs');
  p.child.kill('SIGINT');
  p.child.kill('SIGINT');
  await pastTheFirstSignal(p);
  assert.equal(p.child.exitCode, null);
  p.child.kill('SIGINT');
  assert.equal(await p.ended, 1);
  assert.match(p.output(), /got a second SIGINT[\s\S]*forced/);
});

test('a process that does not stop in time is ended with status 1', async () => {
  const p = await startReady('late');
  p.child.kill('SIGTERM');
  assert.equal(await p.ended, 1);
  assert.match(p.output(), /did not stop within 300 ms/);
});

test('an uncaught error is logged and ends the process with status 1', async () => {
  const p = start('throws');
  assert.equal(await p.ended, 1);
  assert.match(p.output(), /"msg":"stand-in failed"/);
  assert.match(p.output(), /out of the blue/);
});

test('a start error is one sentence, a bug is logged with its stack; both end with status 1', async () => {
  const refused = start('refuses');
  assert.equal(await refused.ended, 1);
  assert.equal(refused.output(), 'It cannot start: do something about it.\n');
  const defect = start('defect');
  assert.equal(await defect.ended, 1);
  assert.match(defect.output(), /"type":"TypeError","message":"a defect","stack":/);
});

test('an older Node.js is refused with advice', () => {
  requireNode('24.0.0');
  requireNode('25.1.0');
  assert.throws(() => requireNode('22.18.0'), {
    message: /needs Node\.js 24 and runs on 22\.18\.0: use the npm scripts/,
  });
});

test('entry points that need external stores name every missing setting', () => {
  const key = Buffer.alloc(32).toString('base64');
  assert.throws(() => requireStores(readConfig({})), { message: /^Set DATABASE_URL and ENCRYPTION_KEY/ });
  assert.throws(() => requireStores(readConfig({ ENCRYPTION_KEY: key })), { message: /^Set DATABASE_URL;/ });
  const config = requireStores(readConfig({ ENCRYPTION_KEY: key, DATABASE_URL: 'postgres://h/d' }));
  assert.equal(config.DATABASE_URL, 'postgres://h/d');
});
