/** The lock of the stored login: one at a time, and what a stopped command left behind is taken over. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { mayRun, ourselves, takeLock, withLock } from '../../../src/cli/service/lock.ts';

test('a holder is alive only with its own start time', async () => {
  const us = await ourselves();
  assert.ok(us.started);
  assert.equal(await mayRun(us), true);
  assert.equal(await mayRun({ ...us, started: undefined }), true, 'a lock of an earlier version');
  assert.equal(await mayRun({ ...us, started: `${us.started}0` }), false, 'its id is used again');
  assert.equal(await mayRun({ ...us, started: 'x', host: 'another-machine' }), true);
  assert.equal(await mayRun({ ...us, pid: 2 ** 30 }), false);
});

test('one of many that find the same dead lock takes it over', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-lock-'));
  t.after(() => rm(folder, { recursive: true }));
  const guarded = join(folder, 'state.json');
  const us = await ourselves();
  for (let round = 0; round < 20; round++) {
    await writeFile(`${guarded}.lock`, JSON.stringify({ ...us, started: 'at another time', since: 'then' }));
    const taken = await Promise.all(Array.from({ length: 8 }, () => takeLock(guarded)));
    const locks = taken.flatMap(({ lock }) => lock ?? []);
    assert.equal(locks.length, 1);
    await locks[0]?.release();
  }
  assert.deepEqual(await readdir(folder), []);
});

test('the lock of the stored login', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-lock-'));
  t.after(() => rm(folder, { recursive: true }));
  const guarded = join(folder, 'login.json');
  const order: string[] = [];
  const hold = (name: string) =>
    withLock(guarded, async () => {
      order.push(`${name} in`);
      const { pid, host, started } = JSON.parse(await readFile(`${guarded}.lock`, 'utf8'));
      assert.deepEqual({ pid, host, started }, await ourselves());
      order.push(`${name} out`);
    });
  await Promise.all([hold('a'), hold('b')]);
  assert.deepEqual(
    order.map((entry) => entry.slice(2)),
    ['in', 'out', 'in', 'out'],
  );
  const since = '2026-01-31T10:00:00.000Z';
  const gone = JSON.stringify({ pid: process.pid, host: hostname(), started: 'at another time', since });
  await writeFile(`${guarded}.lock`, gone);
  await hold('c');
  assert.deepEqual(await readdir(folder), []);
  // Of another machine, or by an earlier version: only the age says that it was left behind.
  const anHourAgo = new Date(Date.now() - 3_600_000);
  for (const text of [JSON.stringify({ pid: 1, host: 'another-machine', since }), `${hostname()} 1`, '']) {
    await writeFile(`${guarded}.lock`, text);
    await utimes(`${guarded}.lock`, anHourAgo, anHourAgo);
    await hold('d');
  }
  assert.deepEqual(await readdir(folder), []);
});
