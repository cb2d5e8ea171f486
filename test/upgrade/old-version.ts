/** The program before the newest migration, or the version that UPGRADE_FROM names, from the history of the project. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';

export interface OldVersion {
  /** The address of a file of it. */
  fileUrl(path: string): string;
  /** How many migrations it has. */
  migrations: number;
}

const MIGRATIONS = 'src/platform/db/migrations';
/** Where versions before the one that has `src/platform` keep them. */
const OLD_MIGRATIONS = 'src/db/migrations';
/** The oldest version whose database this one takes over. */
const OLDEST = '04f166240eba7c9b2f48424348e351cc9c6816ab';
const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();

/** @throws Error when the history of the project is not there */
export function checkOut(t: TestContext): OldVersion {
  const folder = mkdtempSync(join(tmpdir(), 'muster-old-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const archive = join(folder, 'old.tar');
  git('archive', '--output', archive, commit(), 'src', 'workers', 'package.json');
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const migrations = [MIGRATIONS, OLD_MIGRATIONS].map((path) => join(folder, path)).find((path) => existsSync(path));
  return { fileUrl: (path) => `file://${join(folder, path)}`, migrations: countMigrations(migrations) };
}

function commit(): string {
  const given = process.env.UPGRADE_FROM;
  if (given) return given;
  if (git('rev-parse', '--is-shallow-repository') === 'false') return OLDEST;
  throw new Error('The history of the project is needed: clone it without --depth, or set UPGRADE_FROM.');
}

export function countMigrations(folder = MIGRATIONS): number {
  return migrationFiles(folder).length;
}

function migrationFiles(folder = MIGRATIONS): string[] {
  return readdirSync(folder).filter((file) => file.endsWith('.sql'));
}
