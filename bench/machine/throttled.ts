/** Processes that are held to parts of a core (cpu-share.ts), and how often what they have was used up: who is held back limits. */
import { rounded } from '../bench.ts';
import type { Scope } from '../scope.ts';
import type { Roles } from './cpu.ts';
import { holdTo, type Periods } from './cpu-share.ts';

export interface Held {
  begin(): void;
  /** Since `begin`, by role: in which part of the periods its processes, on average, had used up what they have. */
  end(): Record<string, number>;
}

/** @param shares cores of each process of a role; undefined is answered where they cannot be given */
export async function holdAll(scope: Scope, roles: Roles, shares: Record<string, number>): Promise<Held | undefined> {
  const readers: [string, () => Periods][] = [];
  for (const [role, pids] of Object.entries(roles)) {
    for (const pid of pids) {
      const read = await holdTo(scope, pid, shares[role] as number);
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
        const { all, heldBack } = sums[role] ?? { all: 0, heldBack: 0 };
        sums[role] = { all: all + now.all - was.all, heldBack: heldBack + now.heldBack - was.heldBack };
      }
      return Object.fromEntries(Object.entries(sums).map(([role, s]) => [role, rounded(s.heldBack / s.all, 2)]));
    },
  };
}
