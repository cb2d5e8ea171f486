/** docker-compose.yml as Compose reads it, with variables and merge keys resolved. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export const ENV_EXAMPLE = 'deploy/env.example';

export interface Service {
  image?: string;
  mem_limit?: string;
  logging?: { driver: string; options: Record<string, string> };
  volumes?: (string | { source: string; target: string })[];
  command?: string[];
  environment?: Record<string, unknown>;
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string }>;
  deploy?: { replicas: number };
  init?: boolean;
}

export function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

/** The npm scripts, without the shell's `exec`. */
export function scripts(): Record<string, string> {
  const all = JSON.parse(read('package.json')).scripts as Record<string, string>;
  return Object.fromEntries(Object.entries(all).map(([name, line]) => [name, line.replace(/^exec /, '')]));
}

/**
 * Fills in `${NAME}`, `${NAME:-default}`, `${NAME:+instead}` and `${NAME:?message}` (Compose Specification,
 * Interpolation) in the values, as Compose does, so that an empty one is a text and not `null`.
 * @throws Error `NAME: message` for a required variable without a value
 */
export function composeFile(env: Record<string, string | undefined>): {
  file: { services: Record<string, Service> };
  names: Set<string>;
} {
  const names = new Set<string>();
  const filledIn = (text: string) =>
    text.replace(/\$\{(\w+)(?::([-+?])([^}]*))?\}/g, (_all, name, kind, rest) => {
      names.add(name);
      if (env[name]) return kind === '+' ? rest : env[name];
      if (kind === '?') throw new Error(`${name}: ${rest}`);
      return kind === '-' ? rest : '';
    });
  const file = parse(read('docker-compose.yml'), { merge: true });
  const fill = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return key === 'replicas' ? Number(filledIn(value)) : filledIn(value);
    if (Array.isArray(value)) return value.map((one) => fill(one, key));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, name)]));
  };
  return { file: fill(file, '') as { services: Record<string, Service> }, names };
}

/** The environment of a container: the variables of the image and of the service. */
export function environmentOf(service: Service): Record<string, string> {
  const line = /^ENV (.*)$/m.exec(read('Dockerfile'))?.[1] ?? '';
  const image = Object.fromEntries(line.split(' ').map((pair) => pair.split('=') as [string, string]));
  const own = Object.entries(service.environment ?? {}).map(([name, value]) => [name, String(value)]);
  return { ...image, ...Object.fromEntries(own) };
}
