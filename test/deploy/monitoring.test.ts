/** Alerts, dashboard and configuration of Prometheus in `deploy/`: they name metrics that exist, and alerts fire in time. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { openApiMetrics, openWorkerMetrics } from '../../src/operate/metrics.ts';
import { scrape, typesIn } from '../operate/served.ts';
import { queueLog } from '../support/imports/imports.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { dashboard, dashboardQueries } from './dashboard.ts';

const ROOT = new URL('../../', import.meta.url);
const text = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook: string };
}
const rules: Rule[] = parse(text('deploy/prometheus/alerts.yml')).groups[0].rules;

/** Names of all series that API and workers export, without a database: names do not depend on values. */
async function exportedSeries(): Promise<Set<string>> {
  const pool = { query: () => Promise.reject(new Error('no database')) };
  const deps = { pool, queues: queueLog() } as unknown as Parameters<typeof openApiMetrics>[0];
  const texts = [await scrape(openApiMetrics(deps)), await scrape(openWorkerMetrics(deps.pool))];
  const series = texts.flatMap((exported) =>
    [...typesIn(exported)].flatMap(([name, type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name],
    ),
  );
  return new Set([...series, 'up']);
}

function seriesIn(expr: string): string[] {
  const withoutLabels = expr.replace(/\{[^}]*\}/g, '').replace(/\b(?:by|on) \([^)]*\)/g, '');
  return withoutLabels.match(/\b(?:(?:muster|http|nodejs|process)_\w+|up)\b/g) ?? [];
}

test('every query of the alerts and the dashboard names a metric that is exported', async () => {
  const exported = await exportedSeries();
  for (const expr of [...rules.map((rule) => rule.expr), ...dashboardQueries()]) {
    const named = seriesIn(expr);
    assert.notEqual(named.length, 0, expr);
    for (const series of named) assert.ok(exported.has(series), `${series} in ${expr}`);
  }
});

test('every alert has a severity, a summary and a section in docs/operations.md', () => {
  const headings = [...text('docs/operations.md').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  for (const { alert, labels, annotations } of rules) {
    assert.match(labels.severity, /^(?:critical|warning)$/);
    assert.match(annotations.summary, /^[A-Z].*\.$/);
    assert.equal(annotations.runbook, `docs/operations.md#${alert.toLowerCase()}`);
    assert.ok(headings.includes(alert), `a section ${alert}`);
  }
});

function promtool(t: TestContext, args: string[], input = ''): void {
  if (!requireOrSkip(t, 'prometheus')) return;
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: fileURLToPath(ROOT), input, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
}

test('the configuration of Prometheus and its alerts are valid', (t) => {
  promtool(t, ['check', 'config', 'deploy/prometheus/prometheus.yml']);
});

test('each alert fires when it should, and not earlier', (t) => {
  promtool(t, ['test', 'rules', 'test/deploy/alert-rules.yml']);
  const planted = parse(text('test/deploy/alert-rules.yml')).tests.flatMap(
    (one: { alert_rule_test?: { alertname: string; exp_alerts: unknown[] }[] }) =>
      (one.alert_rule_test ?? []).filter((alert) => alert.exp_alerts.length > 0).map((alert) => alert.alertname),
  );
  assert.deepEqual(planted.sort(), rules.map((rule) => rule.alert).sort());
});

test('the dashboard has the form that Grafana imports', () => {
  const { uid, title, schemaVersion, panels, templating } = dashboard();
  assert.deepEqual([uid, title, schemaVersion], ['muster', 'Muster', 39]);
  assert.deepEqual(
    templating.list.map(({ name, type }) => [name, type]),
    [
      ['datasource', 'datasource'],
      ['job', 'query'],
    ],
  );
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const taken = new Set<string>();
  for (const { type, title, description, gridPos, datasource, targets } of panels) {
    assert.ok(title && gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(!taken.has(`${x},${y}`), `${title} overlaps`);
        taken.add(`${x},${y}`);
      }
    }
    if (type === 'row') continue;
    assert.ok(description && targets && targets.length > 0, title);
    assert.deepEqual(datasource, { type: 'prometheus', uid: '$' + '{datasource}' });
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length);
    for (const { expr } of targets) assert.match(expr, /job="\$job"/, 'shows one installation');
  }
});
