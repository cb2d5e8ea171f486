/** `npm run bench` as a command: what it prints, what it rejects, and that it leaves nothing behind. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import test from 'node:test';
import { bcryptLibrary } from '../../../src/passwords/schemes/bcrypt.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { waitFor } from '../../support/wait.ts';
import { assertMeasured, type Line, run, runJson, start } from './command.ts';

test('accept and single print one line of JSON per figure, even without Redis', async (t) => {
  const lines = await runJson(t, ['--only', 'accept,single', '--users', '40'], { PATH: '/nowhere' });
  assert.deepEqual([...lines.keys()], ['accept', 'single-p50', 'single-p99']);
  assertMeasured(lines.get('accept'), 'users/s');
  assertMeasured(lines.get('single-p50'), 'ms');
  assertMeasured(lines.get('single-p99'), 'ms');
});

test('mail sends each user one mail, with and without a rate limit', async (t) => {
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

/** The ratio to bcryptjs is that of each line; that to the library of the service is beside it. */
function assertOwnRatio(line: Line): void {
  const { value, own, ownRatio, library } = line as Line & { own: number; ownRatio: number };
  assert.equal(library, bcryptLibrary().name);
  assert.ok(own > 0 && Math.abs(ownRatio - value / own) < 0.001, `${value} of ${own}: ${ownRatio}`);
}

test('passwords compares hashes with bcryptjs and the library of the service alone, and reports the delay of the event loops', async (t) => {
  const lines = await runJson(t, ['--only', 'passwords', '--users', '6']);
  const line = lines.get('passwords');
  assertMeasured(line, 'hashes/s');
  assertOwnRatio(line as Line);
  const { api, worker } = line.eventLoopDelayMs as Record<string, { p99: number; max: number }>;
  for (const delay of [api, worker]) assert.ok(delay && delay.max >= delay.p99 && delay.p99 >= 0);
});

test('wrong passwords compares the times of their answers between kinds of users', async (t) => {
  const lines = await runJson(t, ['--only', 'wrong-passwords', '--users', '1'], { LOGIN_DELAY_MS: '1' });
  const { unit, value, p50 } = lines.get('wrong-passwords') as Line & { p50: Record<string, number> };
  assert.deepEqual(Object.keys(p50), ['unknown', 'bcrypt 10', 'bcrypt 12', 'SHA-256', 'no password']);
  const times = Object.values(p50);
  assert.ok(times.every((ms) => ms > 0));
  assert.ok(Math.abs(value - (Math.max(...times) - Math.min(...times))) < 0.1, `${value} ${unit}`);
});

test('logins compares them with bcryptjs and the library of the service alone, and the calls of programs during an import with those before it', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'logins', '--users', '600'], { WORKER_CONCURRENCY: '1' });
  assert.deepEqual([...lines.keys()], ['logins', 'token', 'introspection', 'userinfo']);
  assertMeasured(lines.get('logins'), 'logins/s');
  assert.equal(lines.get('logins')?.logins, 6);
  assertOwnRatio(lines.get('logins') as Line);
  for (const name of ['token', 'introspection', 'userinfo']) assertMeasured(lines.get(name), 'calls/s');
});

test('large-database times each kind of search, and imports beside the users that it planted', async (t) => {
  const lines = await runJson(t, ['--only', 'large-database', '--users', '3000']);
  assert.deepEqual([...lines.keys()], ['large-search', 'large-import']);
  assertMeasured(lines.get('large-search'), 'ms');
  assertMeasured(lines.get('large-import'), 'users/s');
  const kinds = lines.get('large-search')?.kinds as { kind: string; p50: number; p99: number }[];
  assert.ok(kinds.length > 10 && kinds.every(({ p50, p99 }) => p50 > 0 && p99 >= p50));
});

test('a bench that needs a missing program is reported as skipped', async (t) => {
  const { status, out } = await run(t, ['--only', 'drain-redis'], { PATH: '/nowhere' });
  assert.equal(status, 0);
  assert.match(out, /^drain-redis .*skipped: redis-server is not on this machine$/m);
  const lines = await runJson(t, ['--only', 'drain-redis,million,memory,fair,status,workers'], { PATH: '/nowhere' });
  for (const name of ['drain-redis', 'million', 'memory', 'fair', 'status', 'workers'])
    assert.equal(lines.get(name)?.value, null);
});

for (const [what, args] of [
  ['an unknown bench', ['--only', 'accept,speed']],
  ['an invalid number of users', ['--users', 'many']],
  ['an unknown option', ['--fast']],
] as const) {
  test(`${what} is rejected in one sentence with exit code 2`, async (t) => {
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
