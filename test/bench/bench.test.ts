/** `npm run bench` as a command, with few users: what it prints, what it refuses, and that nothing of it stays behind. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { requireOrSkip } from '../support/programs.ts';
import { waitFor } from '../support/wait.ts';

const MAIN = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));

interface Started {
  child: ChildProcess;
  /** The folder that all of its files are in. */
  dir: string;
}

async function start(t: TestContext, args: string[], env: Record<string, string> = {}): Promise<Started> {
  const dir = await mkdtemp(join(tmpdir(), 'muster-bench-test-'));
  await chmod(dir, 0o711);
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, TMPDIR: dir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(async () => {
    if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit');
    await rm(dir, { recursive: true, force: true });
  });
  return { child, dir };
}

async function run(t: TestContext, args: string[], env?: Record<string, string>) {
  const { child, dir } = await start(t, args, env);
  const exited = once(child, 'exit');
  const [out, err] = await Promise.all([text(child.stdout as never), text(child.stderr as never)]);
  const [status] = await exited;
  return { status, out, err, dir };
}

interface Line {
  name: string;
  value: number;
  unit: string;
  ceiling: number;
  ratio: number;
  [extra: string]: unknown;
}

async function runJson(t: TestContext, args: string[], env?: Record<string, string>): Promise<Map<string, Line>> {
  const { status, out, err, dir } = await run(t, [...args, '--json'], env);
  assert.equal(status, 0, err);
  assert.deepEqual(await readdir(dir), [], 'nothing is left in the folder for temporary files');
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  for (const line of lines) {
    assert.deepEqual(Object.keys(line).slice(0, 5), ['name', 'value', 'unit', 'ceiling', 'ratio']);
  }
  return new Map(lines.map((line) => [line.name, line]));
}

function assertMeasured(line: Line | undefined, unit: string): asserts line is Line {
  assert.ok(line);
  assert.equal(line.unit, unit);
  assert.ok(line.value > 0 && line.ceiling > 0, JSON.stringify(line));
  assert.ok(Math.abs(line.ratio - line.value / line.ceiling) < 0.001, JSON.stringify(line));
}

test('accept and single print one line of JSON for each figure, also without Redis', async (t) => {
  const lines = await runJson(t, ['--only', 'accept,single', '--users', '40'], { PATH: '/nowhere' });
  assert.deepEqual([...lines.keys()], ['accept', 'single-p50', 'single-p99']);
  assertMeasured(lines.get('accept'), 'users/s');
  assertMeasured(lines.get('single-p50'), 'ms');
  assertMeasured(lines.get('single-p99'), 'ms');
});

function assertLoaded(line: Line | undefined, unit: string): asserts line is Line {
  assertMeasured(line, unit);
  assert.ok((line.loadPerSecond as number) > 0, JSON.stringify(line));
}

test('single and fair are measured while an import runs', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'single,fair', '--users', '20000']);
  const loaded = ['single-loaded-p50', 'single-loaded-p99'];
  assert.deepEqual([...lines.keys()], ['single-p50', 'single-p99', ...loaded, 'fair']);
  for (const name of loaded) assertLoaded(lines.get(name), 'ms');
  const fair = lines.get('fair');
  assertLoaded(fair, 's');
  assert.equal((fair.seconds as number[]).length, fair.imports);
});

test('status is measured for an import and for one of a tenth of its users', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'status', '--users', '100000']);
  assert.deepEqual([...lines.keys()], ['status-10000', 'status-100000']);
  for (const line of lines.values()) assertLoaded(line, 'ms');
  assert.equal(typeof lines.get('status-100000')?.p50Ratio, 'number');
});

test('a running import that is over too soon fails the bench and says what to do', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const { status, out } = await run(t, ['--only', 'fair', '--users', '20']);
  assert.equal(status, 1);
  assert.match(out, /^fair .*failed: The import of 20 users was over before the measurement: use more --users\.$/m);
});

test('memory prints the peak of each process for both sizes', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'memory', '--users', '40']);
  const names = ['api', 'worker', 'redis'].flatMap((role) => [`memory-${role}-4`, `memory-${role}-40`]);
  assert.deepEqual([...lines.keys()], names);
  for (const name of names) {
    assertMeasured(lines.get(name), 'MB');
    assert.equal(typeof lines.get(name)?.relativeDifference, name.endsWith('-40') ? 'number' : 'undefined');
  }
  assert.ok((lines.get('memory-redis-40')?.usedMemoryPeakMegabytes as number) > 0);
});

test('million prints its time and how the last tenth compares with the first', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'million', '--users', '100']);
  assert.deepEqual([...lines.keys()], ['million', 'growth']);
  const line = lines.get('million');
  assertMeasured(line, 's');
  assertMeasured(lines.get('growth'), 'users/s');
  const [round, ...further] = line.rounds as { usersPerSecondByTenth: number[]; cpu: object }[];
  assert.deepEqual(further, [], 'fewer than a million take one round');
  assert.equal(round?.usersPerSecondByTenth.length, 10);
  assert.deepEqual(Object.keys(round?.cpu ?? {}).sort(), ['api', 'postgres', 'redis', 'worker']);
});

test('workers prints a row for each number of workers, with who used the machine', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'workers', '--users', '40']);
  assert.deepEqual([...lines.keys()], ['workers-1', 'workers-2']);
  for (const line of lines.values()) {
    assertMeasured(line, 'users/s');
    const { used } = line.use as { used: object };
    assert.deepEqual(Object.keys(used).sort(), ['api', 'load', 'postgres', 'proxy', 'redis', 'worker']);
    const { idle } = line.addedMs as { idle: { redis: number; postgres: number } };
    assert.ok(idle.redis > 0.5 && idle.postgres > 0.5, JSON.stringify(idle));
    assert.match(line.limit as string, /^(the machine|waiting|worker|redis|proxy|api)/);
  }
});

test('mail sends each user one mail, also at a rate', async (t) => {
  const lines = await runJson(t, ['--only', 'mail', '--users', '30']);
  assert.deepEqual([...lines.keys()], ['mail', 'mail-rated', 'mail-rated-import']);
  assertMeasured(lines.get('mail'), 'mails/s');
  for (const name of ['mail-rated', 'mail-rated-import']) {
    assertMeasured(lines.get(name), 'mails/s');
    const { mails, mostInASecond } = lines.get(name) as Line;
    assert.equal(mails, 30);
    assert.ok(Number(mostInASecond) >= 1 && Number(mostInASecond) <= 30, `${mostInASecond} in a second`);
  }
});

test('passwords compares hashes with bcryptjs alone, and says how late the event loops were', async (t) => {
  const lines = await runJson(t, ['--only', 'passwords', '--users', '6']);
  const line = lines.get('passwords');
  assertMeasured(line, 'hashes/s');
  const { api, worker } = line.eventLoopDelayMs as Record<string, { p99: number; max: number }>;
  for (const delay of [api, worker]) assert.ok(delay && delay.max >= delay.p99 && delay.p99 >= 0);
});

function assertDrained(line: Line | undefined, users: number): void {
  assertMeasured(line, 'users/s');
  const grid = line.grid as { concurrency: number; processes: number; jobsPerSecond: number }[];
  assert.equal(grid.length, 6);
  assert.equal(line.ceiling, Math.max(...grid.map((point) => point.jobsPerSecond)));
  assert.equal(line.users, users);
}

test('drain-postgres compares users with jobs that do nothing', async (t) => {
  const lines = await runJson(t, ['--only', 'drain-postgres', '--users', '150']);
  assertDrained(lines.get('drain-postgres'), 150);
  const { cpu, noopCpu } = lines.get('drain-postgres') as Line;
  assert.deepEqual(Object.keys(cpu as object).sort(), ['api', 'postgres', 'worker']);
  assert.deepEqual(Object.keys(noopCpu as object).sort(), ['postgres', 'producer', 'worker']);
});

test('drain-redis does so on Redis, with two workers when told', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'drain-redis', '--users', '150', '--workers', '2']);
  assertDrained(lines.get('drain-redis'), 150);
  const { workers, cpu } = lines.get('drain-redis') as Line;
  assert.equal(workers, 2);
  assert.deepEqual(Object.keys(cpu as object).sort(), ['api', 'postgres', 'redis', 'worker']);
});

test('a bench whose needs the machine lacks is skipped by name', async (t) => {
  const { status, out } = await run(t, ['--only', 'drain-redis'], { PATH: '/nowhere' });
  assert.equal(status, 0);
  assert.match(out, /^drain-redis .*skipped: redis-server is not on this machine$/m);
  const lines = await runJson(t, ['--only', 'drain-redis,million,memory,fair,status,workers'], { PATH: '/nowhere' });
  for (const name of ['drain-redis', 'million', 'memory', 'fair', 'status', 'workers'])
    assert.equal(lines.get(name)?.value, null);
});

for (const [what, args] of [
  ['an unknown bench', ['--only', 'accept,speed']],
  ['a number of users that is none', ['--users', 'many']],
  ['an unknown option', ['--fast']],
] as const) {
  test(`${what} is refused in one sentence with status 2`, async (t) => {
    const { status, out, err } = await run(t, [...args]);
    assert.equal(status, 2);
    assert.equal(out, '');
    assert.match(err, /^[^\n]+\n$/);
  });
}

/** Command lines of the processes that name `dir`. */
async function processesIn(dir: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.filter((line) => line.includes(dir));
}

test('Ctrl-C ends everything that was started', { skip: process.platform !== 'linux' }, async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const { child, dir } = await start(t, ['--only', 'memory', '--users', '2000000']);
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  await waitFor(() => said.includes('an import of 200000 users'), { what: 'the import' });
  assert.ok((await processesIn(dir)).length > 0, 'its PostgreSQL runs');
  child.kill('SIGINT');
  const [status] = await once(child, 'exit');
  assert.equal(status, 130, said);
  assert.deepEqual(await readdir(dir), []);
  assert.deepEqual(await processesIn(dir), []);
});
