/**
 * Limits processes to shares of a core (cpu-share.ts), and measures how often they are throttled, which shows the
 * bottleneck.
 */
import { rounded } from '../bench.ts';
import type { Scope } from '../scope.ts';
import type { Roles } from './cpu.ts';
import { limitCpu, type Periods } from './cpu-share.ts';

export interface Throttled {
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
