/** Benches that measure during an import. A worker with one job at a time makes it slow enough on any machine. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { assertMeasured, type Line, run, runJson } from './command.ts';

/** One commit per user, so that there is time for calls with pauses between them. */
const SLOW = { WORKER_CONCURRENCY: '1' };

function assertLoaded(line: Line | undefined, unit: string): asserts line is Line {
  assertMeasured(line, unit);
  assert.ok((line.loadPerSecond as number) > 0, JSON.stringify(line));
}

test('single and fair are measured while an import runs', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'single,fair', '--users', '5000'], SLOW);
  const loaded = ['single-loaded-p50', 'single-loaded-p99'];
  assert.deepEqual([...lines.keys()], ['single-p50', 'single-p99', ...loaded, 'fair', 'fair-passwords']);
  for (const name of loaded) assertLoaded(lines.get(name), 'ms');
  const fair = lines.get('fair');
  assertLoaded(fair, 's');
  assert.equal((fair.seconds as number[]).length, fair.imports);
  assertMeasured(lines.get('fair-passwords'), 'x');
});

test('status is measured for an import and for one of a tenth of its users', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'status', '--users', '4000'], SLOW);
  assert.deepEqual([...lines.keys()], ['status-400', 'status-4000']);
  for (const line of lines.values()) assertLoaded(line, 'ms');
  assert.equal(typeof lines.get('status-4000')?.p50Ratio, 'number');
});

test('an import that ends too soon fails the bench, and the message says what to do', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const { status, out } = await run(t, ['--only', 'fair', '--users', '20']);
  assert.equal(status, 1);
  assert.match(out, /^fair .*failed: The import of 20 users ended before the measurement: increase --users\.$/m);
});
