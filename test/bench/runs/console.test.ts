/** `npm run bench -- --only console` with a few users and a small file. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { assertMeasured, type Line, runJson } from './command.ts';

/** One commit per user, so that there is time for calls with pauses between them. */
const SLOW = { WORKER_CONCURRENCY: '1' };

test('an upload has a rate, a guess, a memory, and sends no more than a slice twice when the API is killed', async (t) => {
  const lines = await runJson(t, ['--only', 'console-upload', '--size', '40']);
  assert.deepEqual([...lines.keys()], ['console-upload', 'console-guess', 'console-twice', 'console-memory-api']);
  assertMeasured(lines.get('console-upload'), 'MB/s');
  assertMeasured(lines.get('console-guess'), 'ms');
  assertMeasured(lines.get('console-memory-api'), 'MB');
  const twice = lines.get('console-twice') as Line;
  assert.ok(twice.value >= 0 && twice.value <= 8, JSON.stringify(twice));
  assert.equal(lines.get('console-upload')?.megabytes, 40);
});

test('a browser says what the first page loads, and what an upload takes of its heap', async (t) => {
  if (!requireOrSkip(t, 'chromium')) return;
  const lines = await runJson(t, ['--only', 'console-load,console-tab', '--size', '20']);
  const load = lines.get('console-load');
  assertMeasured(load, 'KB');
  const names = (load.files as [string, number][]).map(([name]) => name);
  assert.ok(names.includes('/console/imports') && names.some((name) => name.endsWith('.css')), names.join());
  assert.deepEqual([load.otherSites, load.reports], [0, 0]);
  const tab = lines.get('console-tab');
  assertMeasured(tab, 'MB');
  assert.ok((tab.idleMegabytes as number) > 0 && (tab.megabytesPerSecond as number) > 0);
});

test('pages, causes, searches and the age of a live page are measured while an import runs', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'console-running', '--users', '6000'], SLOW);
  assert.deepEqual([...lines.keys()], ['console-page', 'console-causes', 'console-search', 'console-lag']);
  for (const name of ['console-page', 'console-causes', 'console-search']) assertMeasured(lines.get(name), 'ms');
  assert.ok((lines.get('console-lag')?.longest as number) > 0, 'the page was behind at some time');
});

test('open pages are compared with none', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const lines = await runJson(t, ['--only', 'console-pages', '--users', '400']);
  const { unit, pages, pairs } = lines.get('console-pages') as Line & { pairs: Record<string, { cpu: number }>[] };
  assert.deepEqual([unit, pages, pairs.length], ['%', 20, 1]);
  assert.ok((pairs[0]?.with?.cpu ?? 0) > 0 && (pairs[0]?.without?.cpu ?? 0) > 0);
});

test('console stands for all of them, and what a machine lacks is skipped by name', async (t) => {
  const lines = await runJson(t, ['--only', 'console', '--size', '9', '--users', '10'], { PATH: '/nowhere' });
  const skipped = ['console-load', 'console-tab', 'console-running', 'console-pages'];
  for (const name of skipped) assert.equal(lines.get(name)?.value, null, name);
  assert.match(String(lines.get('console-tab')?.skipped), /chromium is not on this machine/);
  assertMeasured(lines.get('console-upload'), 'MB/s');
});
