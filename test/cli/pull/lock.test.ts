/** One pull at a time for a state file; the lock of a process that has ended is taken over. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { lockState } from '../../../src/cli/pull/state.ts';

test('the lock of a state file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-lock-'));
  t.after(() => rm(folder, { recursive: true }));
  const state = join(folder, 'state.json');
  const path = `${state}.lock`;
  const holdAs = (pid: number, host = hostname(), started?: string) =>
    writeFile(path, JSON.stringify({ pid, host, started, since: '2026-01-31T10:00:00.000Z' }));
  const refused = (what: RegExp) => assert.rejects(lockState(state), { name: 'Failure', exitCode: 1, message: what });

  const lock = await lockState(state);
  assert.equal(JSON.parse(await readFile(path, 'utf8')).pid, process.pid);
  await lock.release();
  assert.deepEqual(await readdir(folder), []);

  const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const exited = once(other, 'exit');
  await holdAs(other.pid as number);
  await refused(new RegExp(`Another muster pull uses the state file .*process ${other.pid} on .*since 2026-01-31`));
  // Another process has got the id of the one that held the lock.
  await holdAs(other.pid as number, hostname(), 'at another time');
  await (await lockState(state)).release();
  assert.deepEqual(await readdir(folder), []);
  await holdAs(process.pid, hostname(), 'at another time');
  await (await lockState(state)).release();
  // A lock of our own process, and one of an earlier version with the number of our process.
  const own = await lockState(state);
  await refused(new RegExp(`process ${process.pid} on `));
  await own.release();
  await holdAs(process.pid);
  await (await lockState(state)).release();

  await holdAs(other.pid as number);
  other.stdin.end();
  await exited;
  const taken = await lockState(state);
  assert.equal(JSON.parse(await readFile(path, 'utf8')).pid, process.pid);
  await taken.release();
  assert.deepEqual(await readdir(folder), []);

  await holdAs(1, 'another-machine');
  await refused(/process 1 on another-machine/);
  await writeFile(path, '{');
  await refused(/uses the state file/);

  // A lock that another one took over is not removed.
  await rm(path);
  const lost = await lockState(state);
  await holdAs(1, 'another-machine');
  await lost.release();
  await refused(/another-machine/);
});
