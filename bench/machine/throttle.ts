/**
 * Limits processes to a share of a core each, as if they ran on small machines, and measures how often they are
 * throttled, which shows the bottleneck. It uses Linux control groups, version 1 or 2, with periods of some
 * milliseconds.
 *
 * Guarantee: the groups end with the scope. Without permission to create groups, no process is limited, and the result
 * says so.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { rounded } from '../bench.ts';
import type { Scope } from '../scope.ts';
import { familyOf, type Roles } from './cpu.ts';

interface Throttled {
  begin(): void;
  /** By role: the average share of periods since `begin` in which its processes were throttled. */
  end(): Record<string, number>;
}

/** Returns undefined where shares cannot be assigned. @param shares cores of each process of a role */
export async function throttleAll(
  scope: Scope,
  roles: Roles,
  shares: Record<string, number>,
): Promise<Throttled | undefined> {
  const readers: [string, () => Periods][] = [];
  for (const [role, pids] of Object.entries(roles)) {
    for (const pid of pids) {
      const read = await limitCpu(scope, pid, shares[role] as number);
      if (!read) return undefined;
      readers.push([role, read]);
    }
  }
  let before: Periods[] = [];
  return {
    begin() {
      before = readers.map(([, read]) => read());
    },
    end() {
      const sums: Record<string, Periods> = {};
      for (const [i, [role, read]] of readers.entries()) {
        const [now, was] = [read(), before[i] as Periods];
        const { all, throttled } = sums[role] ?? { all: 0, throttled: 0 };
        sums[role] = { all: all + now.all - was.all, throttled: throttled + now.throttled - was.throttled };
      }
      return Object.fromEntries(Object.entries(sums).map(([role, s]) => [role, rounded(s.throttled / s.all, 2)]));
    },
  };
}

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
interface Periods {
  all: number;
  throttled: number;
}

/**
 * Limits a process and all its present and future descendants.
 * @returns a function that reads how often they have been throttled; undefined where they cannot be limited
 */
async function limitCpu(scope: Scope, pid: number, cores: number): Promise<(() => Periods) | undefined> {
  const period = Math.max(PERIOD_US, Math.ceil(LEAST_QUOTA_US / cores));
  const quota = Math.round(cores * period);
  for (const version of VERSIONS.filter(({ root, mark }) => existsSync(`${root}/${mark}`))) {
    const group = `${version.root}/muster-bench-${pid}`;
    try {
      mkdirSync(group, { recursive: true }); // a run that was killed may have left it
    } catch {
      continue; // this version is absent, or we lack permission
    }
    await scope.start(
      async () => group,
      () => remove(group, version.root),
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

const REMOVE_WITHIN_MS = 10_000;
const AGAIN_MS = 5;

/**
 * Moves the group's processes back to the root group, and removes the group.
 * @throws Error when the group has processes until the end of the time for it
 */
async function remove(group: string, root: string): Promise<void> {
  for (const until = performance.now() + REMOVE_WITHIN_MS; ; await sleep(AGAIN_MS)) {
    for (const pid of readFileSync(`${group}/cgroup.procs`, 'utf8').split('\n').filter(Boolean)) {
      try {
        writeFileSync(`${root}/cgroup.procs`, pid);
      } catch {
        // the process has ended meanwhile
      }
    }
    try {
      rmdirSync(group);
      return;
    } catch (error) {
      // PostgreSQL has started a process meanwhile, which began in the group.
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || performance.now() > until) throw error;
    }
  }
}
