/**
 * Holds processes to a part of a core each, as if they had small machines of their own.
 *
 * By control groups of Linux, version 1 or 2, in periods of some milliseconds. Guarantee: the groups end with the scope. Where we
 * may not make any, nobody is held and that is said.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import type { Scope } from '../scope.ts';
import { familyOf } from './cpu.ts';

const PERIOD_US = 10_000;

interface Version {
  root: string;
  hold(group: string, quota: number): void;
}
const VERSIONS: Version[] = [
  {
    root: '/sys/fs/cgroup/cpu',
    hold(group, quota) {
      writeFileSync(`${group}/cpu.cfs_period_us`, String(PERIOD_US));
      writeFileSync(`${group}/cpu.cfs_quota_us`, String(quota));
    },
  },
  {
    root: '/sys/fs/cgroup',
    hold: (group, quota) => writeFileSync(`${group}/cpu.max`, `${quota} ${PERIOD_US}`),
  },
];

/** How many periods there were, and in how many of them its part was used up and it had to wait for the next. */
export interface Periods {
  all: number;
  heldBack: number;
}

/**
 * @param pid with all its descendants, also those to come
 * @returns what says how often it was held back so far; undefined where it is not held
 */
export async function holdTo(scope: Scope, pid: number, cores: number): Promise<(() => Periods) | undefined> {
  const quota = Math.round(cores * PERIOD_US);
  for (const version of VERSIONS) {
    const group = `${version.root}/muster-bench-${pid}`;
    try {
      mkdirSync(group);
    } catch {
      continue; // not there, or not ours to make
    }
    await scope.start(
      async () => group,
      async () => remove(group, version.root),
    );
    try {
      version.hold(group, quota);
      for (const one of familyOf(pid)) writeFileSync(`${group}/cgroup.procs`, String(one));
      return () => readPeriods(group);
    } catch {
      // it counts no processor time: the other version may
    }
  }
  return undefined;
}

function readPeriods(group: string): Periods {
  const stat = readFileSync(`${group}/cpu.stat`, 'utf8');
  const count = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0);
  return { all: count('nr_periods'), heldBack: count('nr_throttled') };
}

/** Lets its processes go where they came from. */
function remove(group: string, root: string): void {
  for (const pid of readFileSync(`${group}/cgroup.procs`, 'utf8').split('\n').filter(Boolean)) {
    try {
      writeFileSync(`${root}/cgroup.procs`, pid);
    } catch {
      // it has ended meanwhile
    }
  }
  rmdirSync(group);
}
