/** The Grafana dashboard of `deploy/`, and its queries as Prometheus gets them. */
import { readFileSync } from 'node:fs';

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource?: { type: string; uid: string };
  targets?: { refId: string; expr: string }[];
}

export interface Dashboard {
  uid: string;
  title: string;
  schemaVersion: number;
  templating: { list: { name: string; type: string }[] };
  panels: Panel[];
}

export function dashboard(): Dashboard {
  return JSON.parse(readFileSync(new URL('../../deploy/grafana/muster.json', import.meta.url), 'utf8'));
}

/** With the variables replaced as Grafana does. */
export function dashboardQueries(job = 'muster', interval = '1m'): string[] {
  const queries = dashboard().panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  return queries.map((expr) => expr.replaceAll('$job', job).replaceAll('$__rate_interval', interval));
}
