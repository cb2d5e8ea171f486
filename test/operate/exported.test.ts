/** The metrics that processes export have good names, and docs/operations.md lists them all. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test, { after, before } from 'node:test';
import { openApiMetrics, openWorkerMetrics } from '../../src/operate/metrics.ts';
import type { Metrics } from '../../src/platform/http/metrics.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { sample, scrape, typesIn } from './served.ts';

let api: TestApi;
let texts: { api: string; worker: string };
before(async () => {
  api = await startApi();
  texts = {
    api: await complete(() => openApiMetrics(api.deps)),
    worker: await complete(() => openWorkerMetrics(api.deps.pool)),
  };
});
after(() => api.stop());

/** The text of metrics whose reads all succeed; on a busy machine, some may take too long at first. */
function complete(open: () => Metrics): Promise<string> {
  const isFailed = (text: string) => /^muster_metrics_failed_reads_total\{/m.test(text);
  const read = async () => [await scrape(open())].find((text) => !isFailed(text));
  return waitFor(read, { what: 'metrics without a failed read' });
}

test('docs/operations.md lists every metric, with the processes that export it', () => {
  const ofRuntime = /^(?:nodejs|process)_/;
  const exported: Record<string, string> = {};
  for (const name of typesIn(texts.api).keys()) exported[name] = 'API';
  for (const name of typesIn(texts.worker).keys()) exported[name] = exported[name] ? 'both' : 'worker';
  const own = Object.entries(exported).filter(([name]) => !ofRuntime.test(name));
  assert.deepEqual(documented(), Object.fromEntries(own.sort()));
});

/** The processes of each metric, as the table says. */
function documented(): Record<string, string> {
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (`(?:http|muster)_[^|]*) \| (API|worker|both)(?:, store)? \|/gm)];
  const names = rows.flatMap(([, cell = '', process = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, process] as const),
  );
  return Object.fromEntries(names.sort());
}

test('promtool finds nothing to complain about', (t) => {
  if (!requireOrSkip(t, 'prometheus')) return;
  for (const text of Object.values(texts)) {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    assert.deepEqual([status, stdout, stderr], [0, '', '']);
  }
});

test('each process tells its version, and how far its clock is off', () => {
  for (const text of Object.values(texts)) {
    assert.match(text, /^muster_build_info\{version="\d+\.\d+\.\d+",node="\d+\.\d+\.\d+"\} 1$/m);
    const skew = sample(text, 'muster_clock_skew_seconds');
    assert.ok(skew !== undefined && Math.abs(skew) < 60, String(skew));
  }
  assert.equal(sample(texts.worker, 'muster_db_pool_waiting_requests{pool="queue"}'), 0);
});
