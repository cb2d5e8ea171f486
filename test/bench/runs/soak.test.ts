/** `npm run soak` for some seconds: what it prints, and that it leaves nothing behind. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import test from 'node:test';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { run, SOAK } from './command.ts';

test('soak loads a service with everything, reads every process and table, and judges them', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const args = ['--minutes', '0.1', '--streams', '10', '--users', '200', '--workers', '2', '--json'];
  const { status, out, err, dir } = await run(t, args, {}, SOAK);
  assert.deepEqual(await readdir(dir), [], 'nothing is left in the folder for temporary files');
  const { calls, rows, messages } = JSON.parse(out);
  // In some seconds a figure may grow: caches fill.
  const grows = rows.some(({ verdict }: { verdict: string }) => verdict === 'grows');
  assert.equal(status, grows ? 1 : 0, err);
  for (const name of ['import', 'login', 'failed login', 'poll', 'token', 'reset', 'stream', 'slow upload'])
    assert.equal(calls[name]?.failed, 0, `${name}: ${err}`);
  for (const name of ['import', 'login', 'poll']) assert.ok(calls[name].done > 0, name);
  assert.ok(messages > 0);
  const names = new Set(rows.map((row: { name: string }) => row.name));
  for (const what of ['memory', 'heap', 'handles'])
    for (const role of ['api', 'worker 1', 'worker 2']) assert.ok(names.has(`${what} ${role}`), `${what} ${role}`);
  for (const name of ['memory redis', 'memory postgres', 'connections postgres', 'rows users', 'open streams'])
    assert.ok(names.has(name), name);
});

test('soak rejects wrong arguments in one sentence with exit code 2', async (t) => {
  const { status, out, err } = await run(t, ['--minutes', 'long'], {}, SOAK);
  assert.equal(status, 2);
  assert.equal(out, '');
  assert.match(err, /^[^\n]+\n$/);
});

test('soak needs Redis', async (t) => {
  const { status, err } = await run(t, ['--minutes', '0.1'], { PATH: '/nowhere' }, SOAK);
  assert.equal(status, 1);
  assert.match(err, /redis-server is not on this machine/);
});
