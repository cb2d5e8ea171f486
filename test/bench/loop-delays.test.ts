import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { loopDelayOptions, readLag, workerDelay } from '../../bench/measure/loop-delays.ts';

test('the API’s delay is read from its metrics, without the sampling interval', () => {
  const metrics = 'nodejs_eventloop_lag_max_seconds 0.0735\nnodejs_eventloop_lag_p99_seconds 0.0095\n';
  assert.deepEqual(readLag(metrics), { p99: 0, max: 63.5 });
  assert.throws(() => readLag('nodejs_eventloop_lag_seconds 0.1'), /does not report/);
});

/** Blocks its loop for 100 ms soon after it gets input: a sample is needed before and after. */
const PROGRAM = `
  const hold = () => {
    for (const end = performance.now() + 100; performance.now() < end; );
    setTimeout(() => console.log('held'), 40);
  };
  process.stdin.on('data', () => setTimeout(hold, 40));
  console.log('ready');`;

test('a process reports the delay of its loop since the last reading', {
  skip: process.platform === 'win32',
}, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'muster-loop-'));
  const { settings, execArgv } = loopDelayOptions(dir);
  const child = spawn(process.execPath, [...execArgv, '-e', PROGRAM], {
    env: { ...process.env, ...settings },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(async () => {
    child.kill('SIGKILL');
    await rm(dir, { recursive: true, force: true });
  });
  await once(child.stdout, 'data');
  await workerDelay(dir, child.pid as number);
  child.stdin.write('now');
  await once(child.stdout, 'data');
  const { max, p99 } = await workerDelay(dir, child.pid as number);
  assert.ok(max > 80 && p99 <= max, `${max} ms`);
});
