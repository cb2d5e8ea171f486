/** A process that is really stopped: how long it stood still depends on the signals only. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { setTimeout } from 'node:timers/promises';

const FREEZE_WATCH = new URL('../../src/platform/timeouts.ts', import.meta.url).href;
const PROGRAM = `
  import { watchFreezes } from '${FREEZE_WATCH}';
  const watch = watchFreezes(300);
  const began = performance.now();
  process.stdin.on('data', () => console.log(watch.since(began), watch.since(performance.now())));
  console.log('ready');`;

test('a stopped process knows when it continues that it stood still, once', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface(child.stdout);
  await once(lines, 'line');
  child.kill('SIGSTOP');
  await setTimeout(350); // the freeze itself, which lasts at least that long
  child.kill('SIGCONT');
  child.stdin.write('?');
  assert.deepEqual(await once(lines, 'line'), ['true false']);
});
