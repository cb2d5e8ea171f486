/**
 * `npm run bench -- --only servers` with few users; skipped where the machine has no PostgreSQL of its distribution.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { distributionPrograms } from '../../../bench/testbed/stores.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../../bench/main.ts', import.meta.url));

async function bench(t: TestContext, env: Record<string, string> = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'muster-bench-test-'));
  await chmod(dir, 0o711);
  t.after(() => rm(dir, { recursive: true, force: true }));
  const args = [MAIN, '--only', 'servers', '--users', '40', '--json'];
  const { stdout } = await run(process.execPath, args, { env: { ...process.env, TMPDIR: dir, ...env } });
  assert.deepEqual(await readdir(dir), [], 'nothing is left in the folder for temporary files');
  return JSON.parse(stdout);
}

test('servers compares a PostgreSQL with default settings with the embedded one', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  if (!(await distributionPrograms())) return t.skip('the PostgreSQL of the distribution is not on this machine');
  const line = await bench(t);
  assert.equal(line.name, 'servers');
  assert.equal(line.users, 40);
  assert.ok(line.pairs.every((pair: Record<string, { perSecond: number }>) => (pair.embedded?.perSecond ?? 0) > 0));
  // The server's own defaults, which differ from those of the embedded one.
  assert.deepEqual(
    [line.settings.jit, line.settings.shared_buffers, line.settings.max_wal_size],
    ['on', '128MB', '1GB'],
  );
});

test('servers is reported as skipped without Redis', async (t) => {
  const line = await bench(t, { PATH: '/nowhere' });
  assert.deepEqual([line.name, line.skipped], ['servers', 'redis-server is not on this machine']);
});
