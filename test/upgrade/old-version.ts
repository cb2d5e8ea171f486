/** The program before the newest migration, or the version that UPGRADE_FROM names, from the history of the project. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

export interface OldVersion {
  /** The addresses of its programs. */
  api: string;
  worker: string;
  /** The number of its newest migration. */
  newest: number;
}

const MIGRATIONS = 'src/platform/db/migrations';
/** Where the API and the migrations of a version are: this version's layout, and that of OLDEST. */
const LAYOUTS = [
  { api: 'src/start/api.ts', migrations: MIGRATIONS },
  { api: 'src/api.ts', migrations: 'src/db/migrations' },
];
/** The oldest version whose database this one takes over. */
const OLDEST = '04f166240eba7c9b2f48424348e351cc9c6816ab';
const INSTALL_MS = 300_000;
const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();

let folder: string | undefined;
let checkedOut: OldVersion | undefined;

after(() => folder && rmSync(folder, { recursive: true, force: true }));

/** One for all tests of a file. @throws Error when the history of the project is not there */
export function oldVersion(): OldVersion {
  checkedOut ??= checkOut();
  return checkedOut;
}

function checkOut(): OldVersion {
  const into = mkdtempSync(join(tmpdir(), 'muster-old-'));
  folder = into;
  const archive = join(into, 'old.tar');
  git('archive', '--output', archive, commit(), 'src', 'workers', 'package.json', 'package-lock.json');
  execFileSync('tar', ['-xf', archive, '-C', into]);
  // It has packages that this version does not.
  const install = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  execFileSync('npm', install, { cwd: into, stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MS });
  const layout = LAYOUTS.find(({ migrations }) => existsSync(join(into, migrations)));
  if (!layout) throw new Error(`${commit()} has no migrations.`);
  const urlOf = (path: string) => `file://${join(into, path)}`;
  return {
    api: urlOf(layout.api),
    worker: urlOf('workers/all-in-one.ts'),
    newest: newestMigration(join(into, layout.migrations)),
  };
}

function commit(): string {
  const given = process.env.UPGRADE_FROM;
  if (given) return given;
  if (git('rev-parse', '--is-shallow-repository') === 'false') return OLDEST;
  throw new Error('The history of the project is needed: clone it without --depth, or set UPGRADE_FROM.');
}

/** The number of the newest migration in a folder. */
export function newestMigration(folder = MIGRATIONS): number {
  return Math.max(...readdirSync(folder).map((file) => Number.parseInt(file, 10) || 0));
}
