/** The program before the newest migration, or the version that UPGRADE_FROM names, from the history of the project. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';

export interface OldVersion {
  /** The address of a file of it. */
  fileUrl(path: string): string;
  /** How many migrations it has. */
  migrations: number;
}

const MIGRATIONS = 'src/db/migrations';
const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();

/** @throws Error when the history of the project is not there */
export function checkOut(t: TestContext): OldVersion {
  const folder = mkdtempSync(join(tmpdir(), 'muster-old-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const archive = join(folder, 'old.tar');
  git('archive', '--output', archive, commit(), 'src', 'workers', 'package.json');
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return { fileUrl: (path) => `file://${join(folder, path)}`, migrations: countMigrations(join(folder, MIGRATIONS)) };
}

function commit(): string {
  const given = process.env.UPGRADE_FROM;
  if (given) return given;
  // By its files: the history may also have migrations that were taken back.
  const added = git(
    'log',
    '-1',
    '--format=%H',
    '--diff-filter=A',
    '--',
    ...migrationFiles().map((f) => `${MIGRATIONS}/${f}`),
  );
  if (added && git('rev-parse', '--is-shallow-repository') === 'false') return `${added}^`;
  throw new Error('The history of the project is needed: clone it without --depth, or set UPGRADE_FROM.');
}

export function countMigrations(folder = MIGRATIONS): number {
  return migrationFiles(folder).length;
}

function migrationFiles(folder = MIGRATIONS): string[] {
  return readdirSync(folder).filter((file) => file.endsWith('.sql'));
}
