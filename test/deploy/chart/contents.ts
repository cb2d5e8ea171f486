/** What the chart runs: the processes of the image, hardened, with valid settings; and files that exist once. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parse } from 'yaml';
import { OPEN_IMPORTS } from '../../../src/operate/store-metrics.ts';
import { readConfig } from '../../../src/platform/config.ts';
import { requireStores } from '../../../src/platform/lifecycle.ts';
import { testDatabase } from '../../support/stores/postgres.ts';
import { composeFile, read } from '../compose.ts';
import { CHART, type Container, containersOf, helm, NAMES, podOf, type Resource, resources } from './chart.ts';

const SECRETS = {
  POSTGRES_PASSWORD: 'a1',
  REDIS_PASSWORD: 'a3',
  ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  BOOTSTRAP_TOKEN: randomBytes(24).toString('hex'),
};
/** The Secret of the bundled PostgreSQL. */
const STORE_SECRETS = { POSTGRES_ADMIN_PASSWORD: 'a2' };
/** What the guide puts into the Secret for external stores. */
const EXTERNAL = { DATABASE_URL: 'postgres://muster@db/muster', REDIS_URL: 'redis://redis:6379' };
const IMAGE = Object.fromEntries(
  (/^ENV (.*)$/m.exec(read('Dockerfile'))?.[1] ?? '').split(' ').map((pair) => pair.split('=') as [string, string]),
);

/** The environment of a container of Muster, as the kubelet makes it. */
function environmentOf({ env }: Container, secret: Record<string, string>): Record<string, string> {
  const own: Record<string, string> = {};
  for (const { name, value, valueFrom } of env ?? []) {
    const known = secret[valueFrom?.secretKeyRef.key ?? ''] as string;
    own[name] = value?.replace(/\$\((\w+)\)/g, (_all, used) => own[used] as string) ?? known;
  }
  return { ...IMAGE, ...secret, ...own };
}

const isMuster = (resource: Resource) => podOf(resource)?.metadata.labels['muster/process'] === 'true';
const named = (all: Resource[], kind: string, name: string) =>
  all.find((one) => one.kind === kind && one.metadata.name === name) as Resource;

export async function checkContents(t: TestContext): Promise<void> {
  for (const name of NAMES) {
    const all = await resources(name);

    await t.test(`${name}: every container is confined`, () => {
      for (const pod of all.flatMap((resource) => podOf(resource) ?? [])) {
        const { securityContext, automountServiceAccountToken, containers } = pod.spec;
        assert.equal(automountServiceAccountToken, false);
        assert.equal(securityContext.runAsNonRoot, true);
        assert.deepEqual(securityContext.seccompProfile, { type: 'RuntimeDefault' });
        for (const container of containers) {
          assert.deepEqual(container.securityContext, {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
        }
      }
    });

    await t.test(`${name}: processes have the commands of Compose, valid settings and all roles`, () => {
      const { services } = composeFile({ ...SECRETS, ...STORE_SECRETS }).file;
      const secret = name === 'minimal' ? SECRETS : { ...SECRETS, ...EXTERNAL };
      const containers = containersOf(all.filter(isMuster));
      const configs = containers.map((container) => requireStores(readConfig(environmentOf(container, secret))));
      for (const [i, { name, command, ports = [] }] of containers.entries()) {
        assert.deepEqual(command, name === 'migration' ? ['node', 'src/start/migrate.ts'] : services[name]?.command);
        const config = configs[i] as (typeof configs)[number];
        const listens = name === 'api' ? [config.PORT, config.METRICS_PORT] : [config.HEALTH_PORT].filter(Boolean);
        assert.deepEqual(
          ports.map(({ containerPort }) => containerPort),
          listens,
        );
        assert.equal(config.HOST, '0.0.0.0');
      }
      const workers = configs.filter(({ HEALTH_PORT }) => HEALTH_PORT > 0);
      assert.deepEqual(
        [...new Set(workers.flatMap(({ WORKER_ROLES }) => WORKER_ROLES))].sort(),
        [...readConfig({}).WORKER_ROLES].sort(),
      );
    });

    await t.test(`${name}: probes, services and policies name ports that their pods have`, () => {
      for (const { ports = [], name, ...probes } of containersOf(all.filter(isMuster))) {
        if (name === 'migration') continue;
        for (const [probe, path] of [
          ['startupProbe', '/healthz'],
          ['livenessProbe', '/healthz'],
          ['readinessProbe', '/readyz'],
        ] as const) {
          assert.equal(probes[probe]?.httpGet.path, path);
          assert.ok(ports.some((port) => port.name === probes[probe]?.httpGet.port));
        }
      }
      const matching = (labels: Record<string, string>) =>
        all.filter((one) => Object.entries(labels).every(([key, v]) => podOf(one)?.metadata.labels[key] === v));
      for (const { kind, metadata, spec } of all) {
        const selector = kind === 'Service' ? spec.selector : (spec?.podSelector ?? spec?.selector)?.matchLabels;
        if (!selector || kind === 'ServiceMonitor') continue;
        assert.notEqual(matching(selector).length, 0, `${kind} ${metadata.name}`);
        for (const { targetPort } of kind === 'Service' ? spec.ports : []) {
          for (const { ports = [] } of containersOf(matching(selector).filter(({ kind }) => kind !== 'Job')))
            assert.ok(
              ports.some((port) => port.name === targetPort),
              `${metadata.name}: ${targetPort}`,
            );
        }
      }
    });
  }

  await t.test('the migration runs before processes are replaced, and after external stores exist', async () => {
    const hookOf = async (name: (typeof NAMES)[number]) =>
      named(await resources(name), 'Job', 'test-migration').metadata.annotations?.['helm.sh/hook'];
    assert.equal(await hookOf('default'), 'pre-install,pre-upgrade');
    assert.equal(await hookOf('minimal'), 'pre-upgrade');
  });

  await t.test('rules, dashboard and role are the files of deploy/, also in a packaged chart', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-chart-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await helm('package', CHART, '--destination', folder);
    const { version } = JSON.parse(read('package.json'));
    const packaged = join(folder, `muster-${version}.tgz`);
    const values = ['--set', 'monitoring.prometheusRule=true,monitoring.dashboard=true,bundledStores.enabled=true'];
    const rendered = await helm('template', 'test', packaged, ...values);
    assert.equal(rendered, await helm('template', 'test', CHART, ...values));
    const all = await resources('default', ...values);
    assert.deepEqual(named(all, 'PrometheusRule', 'test').spec, parse(read('deploy/prometheus/alerts.yml')));
    assert.equal(named(all, 'ConfigMap', 'test-dashboard').data?.['muster.json'], read('deploy/grafana/muster.json'));
    assert.equal(named(all, 'ConfigMap', 'test-postgres').data?.['muster-role.sql'], read('deploy/postgres-role.sql'));
    const { appVersion } = parse(read('deploy/helm/muster/Chart.yaml'));
    assert.equal(appVersion, version);
    assert.match(rendered, new RegExp(`image: muster:${version}`));
  });

  await t.test('a pod gets the time that its process may take to drain', async () => {
    const settings = ['settings.STOP_AFTER_MS=60000', 'workers.import.settings.STOP_AFTER_MS=120000'];
    const all = await resources('ha', ...settings.flatMap((one) => ['--set-string', one]));
    const granted = (of: Resource[], name: string) =>
      named(of, 'Deployment', name).spec.template.spec.terminationGracePeriodSeconds;
    assert.deepEqual([granted(all, 'test-api'), granted(all, 'test-worker-import')], [5 + 60 + 15, 120 + 15]);
    assert.equal(granted(await resources('ha'), 'test-api'), 5 + 15 + 15);
  });

  await t.test('each installation is a job of its own, which the rules expect', async () => {
    const { spec } = named(await resources('ha', '--namespace', 'shop'), 'ServiceMonitor', 'test');
    assert.deepEqual(spec.endpoints[0].relabelings, [{ targetLabel: 'job', replacement: 'muster/shop/test' }]);
    const [, pattern] = /up\{job=~"(.+)"\}/.exec(read('deploy/prometheus/alerts.yml')) as RegExpExecArray;
    assert.match('muster/shop/test', new RegExp(`^${pattern}$`));
  });

  await t.test('the backlog of KEDA is that of /metrics', async (t) => {
    const { pool, drop } = await testDatabase();
    t.after(drop);
    await pool.query(`insert into imports (kind, state, created_by, resource_owner, total, succeeded, failed, skipped, deadline)
      select 'bulk', state::import_state, 'me', 'org', total, done, done, done, clock_timestamp() + left_over
      from (values ('running', 100, 3, interval '1 hour'), ('running', 7, 0, interval '1 hour'),
        ('running', 1000, 0, interval '-1 second'), ('paused', 1000, 0, interval '1 hour')) as v (state, total, done, left_over)`);
    const { spec } = named(await resources('ha'), 'ScaledObject', 'test-worker-import');
    const { rows } = await pool.query({ text: spec.triggers[0].metadata.query, rowMode: 'array' });
    const shown = (await pool.query(OPEN_IMPORTS)).rows.find(({ state }) => state === 'running');
    assert.deepEqual([Number(rows[0]?.[0]), shown.pending], [98, 98]);
    assert.equal(spec.scaleTargetRef.name, 'test-worker-import');
    assert.equal(named(await resources('ha'), 'Deployment', 'test-worker-import').spec.replicas, undefined);
  });
}
