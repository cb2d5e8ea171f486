/** Which servers test files need: those whose support they import, directly or by what they import. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const support = (name: string) => resolve('test/support', name);
/** A test that asks for a program may ask for the run's Redis. */
const SERVERS = {
  postgres: [support('postgres.ts')],
  redis: [support('redis.ts'), support('programs.ts')],
} as const;
export type Server = keyof typeof SERVERS;

const IMPORT = /\b(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g;

/** @param files relative to the root of the project, where we run */
export function needsOf(files: readonly string[]): Set<Server> {
  const seen = new Set<string>();
  const waiting = files.map((file) => resolve(file));
  for (let file = waiting.pop(); file; file = waiting.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    waiting.push(...importsOf(file));
  }
  return new Set((Object.keys(SERVERS) as Server[]).filter((name) => SERVERS[name].some((file) => seen.has(file))));
}

/** Only tests matter: the application starts no server of the tests. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const found = [...text.matchAll(IMPORT)].map(([, path]) => resolve(file, '..', path as string));
  return found.filter((path) => path.startsWith(resolve('test')));
}
