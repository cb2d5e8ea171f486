import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { mayRun, ourselves, withLock } from '../../../src/cli/service/lock.ts';

/** The lock of the stored login: one at a time, and what a stopped command left behind is taken over. */

test('a holder is alive only with its own start time', async () => {
  const us = await ourselves();
  assert.ok(us.started);
  assert.equal(await mayRun(us), true);
  assert.equal(await mayRun({ ...us, started: undefined }), true, 'a lock of an earlier version');
  assert.equal(await mayRun({ ...us, started: `${us.started}0` }), false, 'its id is used again');
  assert.equal(await mayRun({ ...us, started: 'x', host: 'another-machine' }), true);
  assert.equal(await mayRun({ ...us, pid: 2 ** 30 }), false);
});

test('the lock of the stored login', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-lock-'));
  t.after(() => rm(folder, { recursive: true }));
  const guarded = join(folder, 'login.json');
  const order: string[] = [];
  const hold = (name: string) =>
    withLock(guarded, async () => {
      order.push(`${name} in`);
      assert.match(await readFile(`${guarded}.lock`, 'utf8'), new RegExp(`^${hostname()} ${process.pid} `));
      order.push(`${name} out`);
    });
  await Promise.all([hold('a'), hold('b')]);
  assert.deepEqual(
    order.map((entry) => entry.slice(2)),
    ['in', 'out', 'in', 'out'],
  );
  await writeFile(`${guarded}.lock`, `${hostname()} ${process.pid} at another time`);
  await hold('c');
  assert.deepEqual(await readdir(folder), []);
});
