/** Helm accepts the chart with each file of values, and Kubernetes, KEDA and the Prometheus Operator what it renders. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { run } from '../../../bench/testbed/programs.ts';
import { lint, NAMES, render, resourcesIn, type ValuesName } from './chart.ts';
import { KUBERNETES, program, schemaLocations } from './tools.ts';

/** @throws Error with what it found, when it found something */
async function kubeconform(t: TestContext, manifests: string[], version: string): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-chart-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const files = manifests.map((_text, i) => join(folder, `${i}.yaml`));
  await Promise.all(manifests.map((text, i) => writeFile(files[i] as string, text)));
  const options = ['-strict', '-summary', '-output', 'json', '-kubernetes-version', version];
  const said = await run(await program('kubeconform'), [...options, ...(await schemaLocations()), ...files], folder);
  return JSON.parse(said).summary;
}

const SCALED = ['minReplicas=2', 'maxReplicas=9', 'cpuPercent=80']
  .map((one) => `workers.import.autoscaling.${one}`)
  .join();

/** A field of each source of schemas, and a misspelling. */
const MISSPELLED = {
  automountServiceAccountToken: 'automountServiceToken',
  minReplicaCount: 'minReplicas',
  relabelings: 'relabeling',
};

export async function checkValidity(t: TestContext): Promise<void> {
  for (const name of NAMES) {
    await t.test(`helm lint, ${name} values`, async () => {
      assert.match(await lint(name), /1 chart\(s\) linted, 0 chart\(s\) failed/);
    });
  }

  for (const version of KUBERNETES) {
    await t.test(`Kubernetes ${version}`, async (t) => {
      const manifests = await Promise.all(NAMES.map((name) => render(name, '--kube-version', version)));
      const count = manifests.flatMap(resourcesIn).length;
      const summary = await kubeconform(t, manifests, version);
      assert.deepEqual(summary, { valid: count, invalid: 0, errors: 0, skipped: 0 });
    });
  }

  await t.test('misspelled fields are found', async (t) => {
    let manifests = await render('ha');
    for (const [field, wrong] of Object.entries(MISSPELLED)) manifests = manifests.replace(`${field}:`, `${wrong}:`);
    await assert.rejects(kubeconform(t, [manifests], KUBERNETES[1]), ({ message }: Error) =>
      Object.values(MISSPELLED).every((wrong) => message.includes(`additional properties '${wrong}' not allowed`)),
    );
  });

  const refused: [what: string, values: ValuesName, set: string, problem: RegExp][] = [
    ['an unknown value', 'default', 'api.replica=2', /additional properties 'replica' not allowed/],
    ['a secret among the settings', 'default', 'settings.DATABASE_URL=postgres://db', /DATABASE_URL/],
    ['a setting of the chart', 'default', 'settings.WORKER_ROLES=import', /WORKER_ROLES/],
    ['an unknown role', 'default', 'workers.mail.roles[0]=mails', /workers\/mail\/roles\/0/],
    ['a role without a pool', 'default', 'workers.control=null', /no pool has the role dispatch/],
    ['a pool without roles', 'default', 'workers.more.replicas=1', /workers\/more.*missing property 'roles'/],
    ['scaling of a pool that does not exist', 'ha', 'scaling.pool=other', /there is no pool other/],
    ['scaling with bundled stores', 'minimal', 'scaling.enabled=true,scaling.pool=all', /needs external stores/],
    ['more replicas at least than at most', 'ha', 'scaling.minReplicas=17', /at most scaling.maxReplicas/],
    ['two that scale one pool', 'ha', `workers.import.autoscaling.enabled=true,${SCALED}`, /only one may scale it/],
    ['fewer replicas at most than at least', 'ha', 'api.autoscaling.maxReplicas=2', /minReplicas must be at most/],
    ['scaling without a request', 'ha', 'api.resources.requests.cpu=null', /needs resources.requests.cpu/],
    [
      'two sources of certificates',
      'default',
      'caCertificates.secret=a,caCertificates.configMap=b',
      /either configMap/,
    ],
    ['a digest that is none', 'default', 'image.digest=latest', /image\/digest/],
    ['the password of the administrator', 'minimal', 'settings.POSTGRES_ADMIN_PASSWORD=a', /POSTGRES_ADMIN_PASSWORD/],
    ['an ingress without its host', 'ha', 'ingress.host=', /ingress.host must be set/],
    ['an ingress without BASE_URL', 'ha', 'settings.BASE_URL=', /settings.BASE_URL must be the public address/],
  ];
  for (const [what, values, set, problem] of refused) {
    await t.test(`${what} is refused`, async () => {
      await assert.rejects(render(values, '--set', set), problem);
    });
  }
}
