/** Programs that some tests need and that a machine may not have. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { findExecutable } from '../../../bench/testbed/programs.ts';

export const PROGRAMS = {
  /** The distribution's server; the embedded one is an npm package. */
  postgres: 'postgres',
  pgbouncer: 'pgbouncer',
  redis: 'redis-server',
  valkey: 'valkey-server',
  chromium: 'chromium',
  script: 'script',
  bash: 'bash',
  python: 'python3',
  java: 'java',
  maven: 'mvn',
  go: 'go',
  git: 'git',
  systemd: 'systemd-analyze',
  /** OpenLDAP's server, with its schemas in `/etc/ldap`. */
  slapd: 'slapd',
  /** With ldapsearch and ldapwhoami, in a package of their own. */
  ldapadd: 'ldapadd',
  mariadb: 'mariadbd',
  /** Needs root too. */
  mount: 'mount',
  /** Debian's package also has `promtool`. */
  prometheus: 'prometheus',
} as const;
export type ProgramName = keyof typeof PROGRAMS;
/** Used instead, if it is there. The browser without windows takes a quarter of the processor time. */
const PREFERRED: Partial<Record<ProgramName, string>> = { chromium: 'chromium-headless-shell' };
/** Names for people. */
export const LABELS: Record<ProgramName, string> = { ...PROGRAMS, postgres: 'PostgreSQL of the distribution' };

/** The path of the program on this machine, if it has one. */
export function findProgram(name: ProgramName): string | undefined {
  const usual = name === 'postgres' ? debianFolders() : [];
  const files = [PREFERRED[name] ?? [], PROGRAMS[name]].flat();
  return findExecutable(files, { before: usual, after: ['/usr/bin', '/usr/sbin', '/usr/local/bin'] });
}

const DEBIAN = '/usr/lib/postgresql';

/** Debian's folders of each PostgreSQL major version, the highest first; they are not in PATH. */
function debianFolders(): string[] {
  let versions: string[];
  try {
    versions = readdirSync(DEBIAN);
  } catch {
    return [];
  }
  return versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(DEBIAN, version, 'bin'));
}

/** Programs that must not be missing: TEST_REQUIRE=redis,chromium. */
export function required(): string[] {
  return (process.env.TEST_REQUIRE ?? '').split(',').filter(Boolean);
}

/**
 * Skips the test by name if the machine lacks the program: `if (!requireOrSkip(t, 'redis')) return;`.
 * @throws Error when the program is missing and TEST_REQUIRE names it
 */
export function requireOrSkip(t: TestContext, name: ProgramName): boolean {
  const there = name === 'redis' ? Boolean(process.env.TEST_REDIS_URL) : Boolean(findProgram(name));
  if (there) return true;
  const reason = `${PROGRAMS[name]} is not ${findProgram(name) ? 'started: use npm test' : 'on this machine'}`;
  if (required().includes(name)) throw new Error(reason);
  t.skip(reason);
  return false;
}
