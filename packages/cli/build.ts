/**
 * `npm run pack:cli`: writes dist/muster-cli-<version>.tgz, the command line without the server, as JavaScript, because
 * Node.js runs no TypeScript in `node_modules`.
 *
 * It has the files that `src/cli/main.ts` imports, directly or not, with their data, and the `.sql` files of statements. It
 * depends on the packages that these import. What belongs to the server is left out; the commands that load it say so
 * (`src/cli/service/server-part.ts`).
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { transpile } from './transpile.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DIST = join(ROOT, 'dist');
const FOLDER = join(DIST, 'muster-cli');
/** Loaded by `muster doctor --local`, `muster keys` and `muster admin` only. */
const OF_THE_SERVER = [
  'src/platform/config.ts',
  'src/operate/key-rotation.ts',
  'src/operate/known-keys.ts',
  'src/operate/lost-keys.ts',
  'src/signin/recover.ts',
  'src/operate/local-diagnostics.ts',
  'src/cli/doctor/local.ts',
];

/** Drivers that `muster pull` loads for some systems: who needs one installs it. */
const ON_DEMAND = ['ldapts', 'mysql2', 'pg'];

const STATEMENT = /new URL\('([\w-]+\.sql)', import\.meta\.url\)/g;

const { version, license, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
rmSync(FOLDER, { recursive: true, force: true });
const packages = writeSources();
for (const file of ['muster.js', 'README.md']) cpSync(join(import.meta.dirname, file), join(FOLDER, file));
cpSync(join(ROOT, 'LICENSE'), join(FOLDER, 'LICENSE'));
writeFileSync(join(FOLDER, 'package.json'), `${JSON.stringify(manifest(packages), null, 2)}\n`);
execFileSync('npm', ['pack', '--silent', '--pack-destination', DIST], { cwd: FOLDER, stdio: 'inherit' });

/** @returns the names of the packages that the files import */
function writeSources(): Set<string> {
  const packages = new Set<string>();
  const files = new Set([join(ROOT, 'src/cli/main.ts')]);
  // A set also visits what is added while it is visited.
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    if (file.endsWith('.json')) {
      copyData(file, text);
      continue;
    }
    const { code, imports } = transpile(text);
    for (const specifier of imports) {
      if (!specifier.startsWith('.')) packages.add(packageOf(specifier));
      else if (!isOfTheServer(resolve(dirname(file), specifier))) files.add(resolve(dirname(file), specifier));
    }
    const target = join(FOLDER, relative(ROOT, file)).replace(/\.ts$/, '.js');
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, code);
    for (const [, name = ''] of text.matchAll(STATEMENT))
      cpSync(join(dirname(file), name), join(dirname(target), name));
  }
  return packages;
}

/** Words, such as the names of columns. */
function copyData(file: string, text: string): void {
  const target = join(FOLDER, relative(ROOT, file));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}

function isOfTheServer(path: string): boolean {
  return OF_THE_SERVER.some((part) => relative(ROOT, path).startsWith(part));
}

/** `yargs` for `yargs/helpers`. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function manifest(packages: Set<string>) {
  const isOnDemand = (name: string) => ON_DEMAND.includes(name);
  const versions = (names: string[]) => Object.fromEntries(names.sort().map((name) => [name, pinned(name)]));
  return {
    name: 'muster-cli',
    version,
    description: 'The command line of Muster: imports users from another identity system and manages them.',
    license,
    private: true,
    type: 'module',
    engines: { node: '>=22.12' },
    bin: { muster: 'muster.js' },
    dependencies: versions([...packages].filter((name) => !isOnDemand(name))),
    peerDependencies: versions(ON_DEMAND),
    peerDependenciesMeta: Object.fromEntries(ON_DEMAND.map((name) => [name, { optional: true }])),
  };
}

function pinned(name: string): string {
  if (!dependencies[name]) throw new Error(`src/cli imports ${name}, which package.json does not list.`);
  return dependencies[name];
}
