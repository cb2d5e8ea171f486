/** Benches of whole imports with few users: their output. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { assertMeasured, type Line, runJson } from './command.ts';

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
  assert.deepEqual(further, [], 'an import of less than a million users takes one round');
  assert.equal(round?.usersPerSecondByTenth.length, 10);
  assert.deepEqual(Object.keys(round?.cpu ?? {}).sort(), ['api', 'postgres', 'redis', 'worker']);
});

test('flat prints its tenths, and draws the rate, the disk and the memory', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const line = (await runJson(t, ['--only', 'flat', '--users', '100'])).get('flat');
  assertMeasured(line, 'users/s');
  assert.equal((line.usersPerSecondByTenth as number[]).length, 10);
  const looks = line.looks as { disk: number; log: number; memory: Record<string, number> }[];
  assert.ok((looks.at(-1)?.log ?? 0) > 0, JSON.stringify(looks));
  assert.deepEqual(Object.keys(looks[0]?.memory ?? {}).sort(), ['api', 'redis', 'worker']);
  assert.equal((line.picture as string).match(/<polyline/g)?.length, 6, 'one rate, two sizes, three processes');
});

test('undo prints its rate, and how long the preview takes', async (t) => {
  const lines = await runJson(t, ['--only', 'undo', '--users', '120']);
  assert.deepEqual([...lines.keys()], ['undo', 'undo-preview']);
  const line = lines.get('undo');
  assertMeasured(line, 'users/s');
  assertMeasured(lines.get('undo-preview'), 'ms');
  const [round, ...further] = line.rounds as { bareUsersPerSecond: number; cpu: Record<string, number> }[];
  assert.deepEqual(further, [], 'fewer users than usual take one round');
  assert.equal(round?.bareUsersPerSecond, line.ceiling);
  assert.ok(round?.cpu.postgres !== undefined && round.cpu.worker !== undefined, JSON.stringify(round));
});

test('workers prints a row for each number of workers, with the use of the machine', async (t) => {
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

function assertDrained(line: Line | undefined, users: number): void {
  assertMeasured(line, 'users/s');
  const grid = line.grid as { concurrency: number; processes: number; jobsPerSecond: number }[];
  assert.equal(grid.length, 6);
  assert.equal(line.ceiling, Math.max(...grid.map((point) => point.jobsPerSecond)));
  assert.equal(line.users, users);
}

test('drain-postgres compares users with no-op jobs', async (t) => {
  const lines = await runJson(t, ['--only', 'drain-postgres', '--users', '150']);
  assertDrained(lines.get('drain-postgres'), 150);
  const { cpu, noopCpu } = lines.get('drain-postgres') as Line;
  assert.deepEqual(Object.keys(cpu as object).sort(), ['api', 'postgres', 'worker']);
  assert.deepEqual(Object.keys(noopCpu as object).sort(), ['postgres', 'producer', 'worker']);
});

test('drain-redis does the same on Redis, with two workers on request', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'drain-redis', '--users', '150', '--workers', '2']);
  assertDrained(lines.get('drain-redis'), 150);
  const { workers, cpu } = lines.get('drain-redis') as Line;
  assert.equal(workers, 2);
  assert.deepEqual(Object.keys(cpu as object).sort(), ['api', 'postgres', 'redis', 'worker']);
});

test('cost prints the processor time of a user by process, and PostgreSQL by purpose', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'cost', '--users', '150']);
  assertMeasured(lines.get('cost'), 'µs');
  const { cpu, noopCpu, postgres } = lines.get('cost') as Line & Record<string, Record<string, number>>;
  assert.deepEqual(Object.keys(cpu as object).sort(), ['api', 'postgres', 'redis', 'worker']);
  assert.deepEqual(Object.keys(noopCpu as object).sort(), ['postgres', 'producer', 'redis', 'worker']);
  assert.ok(Object.hasOwn(postgres as object, 'batches'), JSON.stringify(postgres));
});

test('tracing compares an import that is traced with one that is not', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'tracing', '--users', '40']);
  assertMeasured(lines.get('tracing'), 'µs');
  const { pairs, ratio, value, ceiling } = lines.get('tracing') as Line & {
    pairs: Record<'on' | 'off', { cpu: number; kilobytes: number }>[];
  };
  assert.equal(pairs.length, 1);
  const [{ on, off }] = pairs as [(typeof pairs)[number]];
  assert.ok(on.kilobytes > 0 && off.kilobytes === 0);
  assert.deepEqual([value, ceiling], [on.cpu, off.cpu]);
  assert.ok(Math.abs(Number(ratio) - on.cpu / off.cpu) < 0.001);
});
