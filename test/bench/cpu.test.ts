import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'node:test';
import { cpuPerUnit, cpuTime, hasProc, peakMemory, sumOf } from '../../bench/machine/cpu.ts';

const skip = !hasProc() && 'this system has no /proc';
/** The kernel rounds each process' time to hundredths of a second. */
const TOLERANCE = 40_000;

/** Its child works for 300 ms, reports its own processor time, and has ended when the parent prints that. */
const PARENT = `
  const child = require('node:child_process').spawnSync(process.execPath, ['-e', \`
    const end = process.hrtime.bigint() + 300_000_000n;
    while (process.hrtime.bigint() < end) JSON.stringify(process.versions);
    const { user, system } = process.cpuUsage();
    console.log(user + system);\`]);
  process.stdout.write(child.stdout);
  process.stdin.resume();`;

test('the time of an ended process counts for its parent', { skip }, async (t) => {
  const parent = spawn(process.execPath, ['-e', PARENT], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => parent.kill('SIGKILL'));
  const [said] = await once(parent.stdout, 'data');
  const { parent: counted } = cpuTime({ parent: [parent.pid as number] });
  assert.ok((counted as number) + TOLERANCE >= Number(said), `${counted} of at least ${said}`);
});

test('the time of a living child counts once per role that includes it', { skip }, async (t) => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume(); console.log(1)'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const ours = cpuTime({ all: [process.pid], child: [child.pid as number] });
  const { user, system } = process.cpuUsage();
  assert.ok((ours.child as number) > 0);
  assert.ok((ours.all as number) + TOLERANCE >= (ours.child as number));
  assert.ok((ours.all as number) >= user + system - 2_000_000, "this process' own time is included");
});

test('a missing process is an error, not zero', { skip }, async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  assert.throws(() => cpuTime({ api: [child.pid as number] }), /api ended/);
});

test('time per unit is the difference for each role, divided by the count', () => {
  const cost = cpuPerUnit({ api: 1000, worker: 0 }, { api: 3000, worker: 500 }, 100);
  assert.deepEqual(cost, { api: 20, worker: 5 });
  assert.equal(sumOf(cost), 25);
});

test('the peak memory of this process is read', { skip }, () => {
  assert.ok(peakMemory(process.pid) > 20e6);
});
