/** What test files need, told by what they import, directly or by what they import. */
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
const STARTS_PROCESSES = /from '(node:child_process|playwright-core)'/;

/**
 * The servers that the run has to start.
 * @param files relative to the root of the project, where we run
 */
export function needsOf(files: readonly string[]): Set<Server> {
  const read = readAll(files);
  return new Set((Object.keys(SERVERS) as Server[]).filter((name) => SERVERS[name].some((file) => read.has(file))));
}

/** Whether a test starts processes other than stores: such a test mostly waits for them. */
export function startsProcesses(file: string): boolean {
  const texts = readAll([file], Object.values(SERVERS).flat());
  return [...texts.values()].some((text) => STARTS_PROCESSES.test(text));
}

/** The texts of the files and of all that they import, in `test`: the application starts no server of the tests. */
function readAll(files: readonly string[], without: readonly string[] = []): Map<string, string> {
  const texts = new Map<string, string>();
  const waiting = files.map((file) => resolve(file));
  for (let file = waiting.pop(); file; file = waiting.pop()) {
    if (texts.has(file) || without.includes(file)) continue;
    const text = readFileSync(file, 'utf8');
    texts.set(file, text);
    waiting.push(...importsOf(file, text));
  }
  return texts;
}

function importsOf(file: string, text: string): string[] {
  const found = [...text.matchAll(IMPORT)].map(([, path]) => resolve(file, '..', path as string));
  return found.filter((path) => path.startsWith(resolve('test')));
}
