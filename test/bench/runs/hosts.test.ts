/** `npm run bench -- --only hosts` with few users; skipped where network namespaces or TUN devices are not allowed. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { assertMeasured, runJson } from './command.ts';

test('hosts is as exact with workers on other hosts, over lossy links, and with workers that die', async (t) => {
  const lines = await runJson(t, ['--only', 'hosts', '--users', '600']);
  const skipped = lines.get('hosts')?.skipped;
  if (skipped) return t.skip(String(skipped));
  assert.deepEqual([...lines.keys()], ['hosts-near', 'hosts-linked', 'hosts-dying']);
  for (const line of lines.values()) assertMeasured(line, 'users/s');
  const dying = lines.get('hosts-dying');
  assert.ok(Number(dying?.killed) + Number(dying?.stopped) > 0, 'a worker died meanwhile');
});
