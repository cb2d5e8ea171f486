/** What the benches read of processes: processor time, memory, the use of the machine, and delays of event loops. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { loopDelayOptions, readLag, workerDelay } from '../../bench/benches/passwords.ts';
import { cpuPerUnit, cpuTime, hasProc, peakMemory, sumOf } from '../../bench/machine/cpu.ts';
import { limitOf, readUse, useBetween } from '../../bench/machine/machine.ts';
import { throttleAll } from '../../bench/machine/throttle.ts';
import { openScope } from '../../bench/scope.ts';

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

const before = { ms: 0, byRole: { worker: 0, redis: 500_000 }, busy: 100 };

test('the use of each role is counted in cores, and other busy time goes to others', () => {
  const use = useBetween(before, { ms: 1000, byRole: { worker: 900_000, redis: 700_000 }, busy: 1600 }, 2);
  assert.deepEqual(use, { cores: 2, used: { worker: 0.9, redis: 0.2 }, others: 0.4, idle: 0.5 });
});

test('inconsistent accounts give neither negative others nor negative idle cores', () => {
  const use = useBetween(before, { ms: 1000, byRole: { worker: 2_000_000, redis: 600_000 }, busy: 2000 }, 2);
  assert.equal(use.others, 0);
  assert.equal(use.idle, 0);
});

test('the limit is a process that uses all of its core, the machine, or waiting', () => {
  const use = { cores: 4, used: { worker: 1.2, redis: 0.95, postgres: 1.5 }, others: 0, idle: 0.35 };
  const single = { worker: 2, redis: 1 };
  assert.match(limitOf(use, single), /^redis:/);
  assert.match(limitOf({ ...use, used: { worker: 1.9, redis: 0.5 } }, single), /^worker:/);
  assert.equal(limitOf({ ...use, used: { ...use.used, redis: 0.8 } }, single), 'the machine; postgres uses most of it');
  assert.match(
    limitOf({ ...use, used: { ...use.used, redis: 0.5 }, others: 0.4 }, single),
    /shared with other programs/,
  );
  assert.match(limitOf({ ...use, used: { worker: 1.2, redis: 0.4 }, idle: 2.4 }, single), /^waiting/);
});

test('the load generator is one of the roles', { skip: process.platform !== 'linux' }, () => {
  const { byRole, busy } = readUse({ self: [process.pid] });
  assert.ok((byRole.self as number) > 0 && (byRole.load as number) > 0 && busy > 0);
});

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

test('a limit ends although its process starts others at this moment, as PostgreSQL does', { skip }, async (t) => {
  const forks = 'f() { while :; do /bin/true & /bin/true; done; }; f & f & echo 1; f';
  const child = spawn('sh', ['-c', forks], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  t.after(() => process.kill(-(child.pid as number), 'SIGKILL'));
  await once(child.stdout, 'data');
  for (let times = 0; times < 20; times++) {
    const scope = openScope();
    t.after(() => scope.close());
    const throttled = await throttleAll(scope, { forks: [child.pid as number] }, { forks: 0.5 });
    if (!throttled) return t.skip('this system does not limit processes');
    await scope.close();
  }
});
