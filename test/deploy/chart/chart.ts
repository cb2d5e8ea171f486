/** The chart as Helm renders it. */
import { resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { run } from '../../../bench/testbed/programs.ts';
import { program } from './tools.ts';

export const CHART = resolve('deploy/helm/muster');
const VALUES = {
  default: [],
  minimal: ['--values', resolve('deploy/helm/values-minimal.yaml')],
  ha: ['--values', resolve('deploy/helm/values-ha.yaml')],
  /** What the other ones leave at its default. */
  more: [
    ...['--set', 'caCertificates.secret=ca,serviceAccount.create=false,serviceAccount.name=shop'],
    ...['--set', `image.digest=sha256:${'a'.repeat(64)},workers.import.autoscaling.enabled=true`],
    ...['--set', 'workers.import.autoscaling.minReplicas=2,workers.import.autoscaling.maxReplicas=9'],
    ...['--set', 'workers.import.autoscaling.cpuPercent=80,nodeSelector.disk=ssd,workers.import.nodeSelector.cpu=fast'],
    ...[
      '--set-json',
      'affinity={"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"Exists"}]}]}}}',
    ],
  ],
};
export type ValuesName = keyof typeof VALUES;
export const NAMES = Object.keys(VALUES) as ValuesName[];

export interface Container {
  name: string;
  image: string;
  command?: string[];
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[] | null;
  envFrom?: { secretRef: { name: string } }[];
  ports?: { name: string; containerPort: number }[];
  securityContext: Record<string, unknown>;
  volumeMounts: { name: string; mountPath: string }[];
  [probe: `${string}Probe`]: { httpGet: { path: string; port: string } };
}

export interface Pod {
  metadata: { labels: Record<string, string> };
  spec: {
    containers: Container[];
    securityContext: Record<string, unknown>;
    automountServiceAccountToken: boolean;
    serviceAccountName?: string;
    nodeSelector?: Record<string, string>;
    affinity?: Record<string, unknown>;
    volumes: { name: string; configMap?: { name: string }; secret?: { secretName: string } }[];
  };
}

export interface Resource {
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has fields of its own
  spec: any;
  data?: Record<string, string>;
}

/** Runs Helm in the folder of the project; what it reads and writes of its own stays in an empty folder. */
export async function helm(...args: string[]): Promise<string> {
  const own = resolve('node_modules/.cache/chart/home');
  const env = { HELM_CACHE_HOME: own, HELM_CONFIG_HOME: own, HELM_DATA_HOME: own, KUBECONFIG: '/dev/null' };
  return run(await program('helm'), args, '.', env);
}

/** The manifests of a release named `test`. @param more options of Helm */
export function render(values: ValuesName, ...more: string[]): Promise<string> {
  return helm('template', 'test', CHART, ...VALUES[values], ...more);
}

export function lint(values: ValuesName): Promise<string> {
  return helm('lint', '--strict', CHART, ...VALUES[values]);
}

export function resourcesIn(manifests: string): Resource[] {
  return parseAllDocuments(manifests).flatMap((document) => document.toJS() ?? []);
}

export async function resources(values: ValuesName, ...more: string[]): Promise<Resource[]> {
  return resourcesIn(await render(values, ...more));
}

/** The template of a resource's pods, if it has pods. */
export function podOf({ spec }: Resource): Pod | undefined {
  return spec?.template?.spec?.containers ? spec.template : undefined;
}

export function containersOf(all: Resource[]): Container[] {
  return all.flatMap((resource) => podOf(resource)?.spec.containers ?? []);
}
