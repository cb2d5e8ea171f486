/** Options of the chart: certificates, accounts, digests, placement, scaling, egress. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { containersOf, podOf, type Resource, resources } from './chart.ts';

const of = (all: Resource[], kind: string, name: string) =>
  all.find((one) => one.kind === kind && one.metadata.name === name);
const pods = (all: Resource[]) => all.filter((one) => podOf(one)?.metadata.labels['muster/process'] === 'true');

/** The default ports of everything that docs/security.md lists as a connection of a process. */
const CONNECTIONS = {
  PostgreSQL: [5432],
  Redis: [6379],
  Sentinel: [26379],
  'mail server': [465, 587],
  'https: webhooks, SMS gateway, password sources': [443],
  'LDAP and LDAPS': [389, 636],
  OTLP: [4318],
};

export async function checkOptions(t: TestContext): Promise<void> {
  const [minimal, ha, more, standard] = await Promise.all(
    (['minimal', 'ha', 'more', 'default'] as const).map((name) => resources(name)),
  );

  await t.test('only the bundled PostgreSQL gets the password of its administrator', () => {
    const secrets = containersOf(minimal ?? []).map(({ name, env, envFrom }) => [
      name,
      ...(envFrom ?? []).map(({ secretRef }) => secretRef.name),
      ...(env ?? []).flatMap(({ valueFrom }) => valueFrom?.secretKeyRef.name ?? []),
    ]);
    const withAdmin = secrets.filter(([, ...names]) => names.includes('muster-postgres')).map(([name]) => name);
    assert.deepEqual(withAdmin, ['postgres']);
    const keys = containersOf(minimal ?? []).flatMap(({ name, env }) =>
      (env ?? []).flatMap(({ valueFrom }) => (valueFrom ? [[name, valueFrom.secretKeyRef]] : [])),
    );
    const admin = keys.filter(([, ref]) => (ref as { key: string }).key === 'POSTGRES_ADMIN_PASSWORD');
    assert.deepEqual(admin, [['postgres', { name: 'muster-postgres', key: 'POSTGRES_ADMIN_PASSWORD' }]]);
  });

  await t.test('certificates are mounted in every process, and Node.js trusts them', () => {
    for (const resource of pods(more ?? [])) {
      const [container] = containersOf([resource]);
      const path = container?.env?.find(({ name }) => name === 'NODE_EXTRA_CA_CERTS')?.value;
      assert.equal(path, '/etc/muster/ca/ca.crt', resource.metadata.name);
      assert.ok(container?.volumeMounts.some(({ name, mountPath }) => name === 'ca' && path?.startsWith(mountPath)));
      const volume = podOf(resource)?.spec.volumes.find(({ name }) => name === 'ca');
      assert.deepEqual(volume?.secret, { secretName: 'ca' });
    }
    assert.ok(!JSON.stringify(standard).includes('NODE_EXTRA_CA_CERTS'));
  });

  await t.test('every process has an account, which exists when its pod starts', () => {
    for (const resource of pods(standard ?? [])) {
      const isHook = (one?: Resource) => one?.metadata.annotations?.['helm.sh/hook'];
      const account = of(standard ?? [], 'ServiceAccount', podOf(resource)?.spec.serviceAccountName as string);
      assert.equal(isHook(account), isHook(resource), resource.metadata.name);
      assert.ok(account, resource.metadata.name);
      if (isHook(resource)) assert.equal(account.metadata.annotations?.['helm.sh/hook-weight'], '-1');
    }
    assert.deepEqual(new Set(pods(more ?? []).map((one) => podOf(one)?.spec.serviceAccountName)), new Set(['shop']));
    assert.ok(!more?.some(({ kind }) => kind === 'ServiceAccount'));
  });

  await t.test('a digest selects the image', () => {
    const images = new Set(containersOf(pods(more ?? [])).map(({ image }) => image));
    assert.match([...images].join(), /^muster:[\d.]+@sha256:a{64}$/);
  });

  await t.test('pods have the placement of all, or one of their own', () => {
    const placed = (name: string) => podOf(of(more ?? [], 'Deployment', name) as Resource)?.spec;
    assert.deepEqual(placed('test-api')?.nodeSelector, { disk: 'ssd' });
    assert.deepEqual(placed('test-worker-import')?.nodeSelector, { cpu: 'fast' });
    for (const resource of pods(more ?? [])) assert.ok(podOf(resource)?.spec.affinity?.nodeAffinity);
  });

  await t.test('what a HorizontalPodAutoscaler scales has no replicas of its own', () => {
    for (const [all, name] of [
      [ha, 'test-api'],
      [more, 'test-worker-import'],
    ] as const) {
      const { spec } = of(all ?? [], 'HorizontalPodAutoscaler', name) as Resource;
      assert.equal(spec.scaleTargetRef.name, name);
      assert.equal(of(all ?? [], 'Deployment', name)?.spec.replicas, undefined);
    }
    assert.ok(!standard?.some(({ kind }) => kind === 'HorizontalPodAutoscaler'));
  });

  await t.test('the egress of values-ha.yaml allows all that Muster connects to', () => {
    const { spec } = of(ha ?? [], 'NetworkPolicy', 'test-processes') as Resource;
    const allowed = spec.egress.flatMap(({ ports }: { ports?: { port: number }[] }) => ports?.map(({ port }) => port));
    for (const [what, ports] of Object.entries(CONNECTIONS)) {
      for (const port of ports) assert.ok(allowed.includes(port), `${what}: ${port}`);
    }
  });
}
