/**
 * Limits processes to a share of a core each, as if they ran on small machines.
 *
 * It uses Linux control groups, version 1 or 2, with periods of some milliseconds.
 * Guarantee: the groups end with the scope. Without permission to create groups, no process is limited, and the result
 * says so.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import type { Scope } from '../scope.ts';
import { familyOf } from './cpu.ts';

const PERIOD_US = 10_000;
/** The kernel allows no smaller one, so that small shares have longer periods. */
const LEAST_QUOTA_US = 1000;

interface Version {
  root: string;
  /** A file that the root has in this version. */
  mark: string;
  limit(group: string, quota: number, period: number): void;
}
const VERSIONS: Version[] = [
  {
    root: '/sys/fs/cgroup/cpu',
    mark: 'cpu.shares',
    limit(group, quota, period) {
      writeFileSync(`${group}/cpu.cfs_period_us`, String(period));
      writeFileSync(`${group}/cpu.cfs_quota_us`, String(quota));
    },
  },
  {
    root: '/sys/fs/cgroup',
    mark: 'cgroup.controllers',
    limit: (group, quota, period) => writeFileSync(`${group}/cpu.max`, `${quota} ${period}`),
  },
];

/** How many periods there were, and in how many of them the processes used up their share and had to wait. */
export interface Periods {
  all: number;
  throttled: number;
}

/**
 * Limits a process and all its present and future descendants.
 * @returns a function that reads how often they have been throttled; undefined where they cannot be limited
 */
export async function limitCpu(scope: Scope, pid: number, cores: number): Promise<(() => Periods) | undefined> {
  const period = Math.max(PERIOD_US, Math.ceil(LEAST_QUOTA_US / cores));
  const quota = Math.round(cores * period);
  for (const version of VERSIONS.filter(({ root, mark }) => existsSync(`${root}/${mark}`))) {
    const group = `${version.root}/muster-bench-${pid}`;
    try {
      mkdirSync(group);
    } catch {
      continue; // this version is absent, or we lack permission
    }
    await scope.start(
      async () => group,
      async () => remove(group, version.root),
    );
    try {
      version.limit(group, quota, period);
      for (const one of familyOf(pid)) enter(group, one);
      return () => readPeriods(group);
    } catch {
      // this version does not limit processor time here; the other may
    }
  }
  return undefined;
}

function enter(group: string, pid: number): void {
  try {
    writeFileSync(`${group}/cgroup.procs`, String(pid));
  } catch (error) {
    // A short-lived process of PostgreSQL may have ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readPeriods(group: string): Periods {
  const stat = readFileSync(`${group}/cpu.stat`, 'utf8');
  const count = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0);
  return { all: count('nr_periods'), throttled: count('nr_throttled') };
}

/** Moves the group's processes back to the root group, and removes the group. */
function remove(group: string, root: string): void {
  for (const pid of readFileSync(`${group}/cgroup.procs`, 'utf8').split('\n').filter(Boolean)) {
    try {
      writeFileSync(`${root}/cgroup.procs`, pid);
    } catch {
      // the process has ended meanwhile
    }
  }
  rmdirSync(group);
}
