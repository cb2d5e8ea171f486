/** Determines what test files need by their direct and indirect imports. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const support = (name: string) => resolve('test/support', name);
/** A test that checks for a program may need the run's Redis. */
const SERVERS = {
  postgres: [support('stores/postgres.ts')],
  redis: [support('stores/redis.ts'), support('runner/programs.ts')],
} as const;
export type Server = keyof typeof SERVERS;

const IMPORT = /\b(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g;
/** Services, with a pooler before their database in some runs, `muster` on a terminal, and browsers. */
const SERVICES = [
  ...[support('processes/child.ts'), support('processes/terminal.ts'), support('browser.ts')],
  support('stores/pgbouncer.ts'),
];
const OWN = /from 'node:child_process'|ownProcesses: true/;

/**
 * The servers that the run has to start.
 * @param files relative to the root of the project, the current folder
 */
export function needsOf(files: readonly string[]): Set<Server> {
  const texts = readAll(files);
  return new Set((Object.keys(SERVERS) as Server[]).filter((name) => SERVERS[name].some((file) => texts.has(file))));
}

/**
 * What else a test file runs: `nothing`; `services`, commands and browsers, for which it mostly waits; or its `own`
 * processes, which it kills, measures or controls.
 */
export function startsOf(file: string): 'nothing' | 'services' | 'own' {
  const texts = readAll([file], [...Object.values(SERVERS).flat(), ...SERVICES]);
  if ([...texts.values()].some((text) => OWN.test(text))) return 'own';
  return [...readAll([file]).keys()].some((path) => SERVICES.includes(path)) ? 'services' : 'nothing';
}

/**
 * The texts of the files and of everything they import from `test`; the application starts none of the tests' servers.
 */
function readAll(files: readonly string[], without: readonly string[] = []): Map<string, string> {
  const texts = new Map<string, string>();
  const waiting = files.map((file) => resolve(file));
  for (let file = waiting.pop(); file; file = waiting.pop()) {
    if (texts.has(file) || without.includes(file)) continue;
    const text = textOf(file);
    texts.set(file, text);
    waiting.push(...importsOf(file, text));
  }
  return texts;
}

const read = new Map<string, string>();

function textOf(file: string): string {
  const text = read.get(file) ?? readFileSync(file, 'utf8');
  read.set(file, text);
  return text;
}

function importsOf(file: string, text: string): string[] {
  const found = [...text.matchAll(IMPORT)].map(([, path]) => resolve(file, '..', path as string));
  return found.filter((path) => path.startsWith(resolve('test')));
}
