/**
 * `console-pages`: what twenty open pages of the running import cost: how much more processor time a user takes, over all
 * processes, than without them. Imports with and without pages alternate, each on new stores.
 */
import { type Context, counted, perSecond, type Result, rounded, Skipped } from '../bench.ts';
import { cpuPerUnit, cpuTime, hasProc, sumOf } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { redisVersion } from '../testbed/stores.ts';
import { startService, startStores } from '../testbed/testbed.ts';
import { openSession, resultOf } from './session.ts';

const DEFAULT_USERS = 100_000;
/** As many as one person may have open. */
const PAGES = 20;
/** Pairs of imports with the usual number of users or more; smaller imports get one pair. */
const PAIRS = 3;
const TARGET_PERCENT = 3;

interface Drained {
  usersPerSecond: number;
  /** Microseconds a user, over all processes. */
  cpu: number;
  /** Microseconds a user in the API, which serves the pages: steadier than the sum. */
  apiCpu: number;
}

export async function consolePages({ scope, say, users = DEFAULT_USERS, workers }: Context): Promise<Result[]> {
  if (!hasProc()) throw new Skipped('this system has no /proc, from which processor time is read');
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  const drain = async (pages: number) => {
    const drained = await scope.within((inner) => drainWith(inner, users, Math.max(1, workers), pages));
    say(`console: ${drained.usersPerSecond} users/s, ${drained.cpu} µs a user with ${pages} pages`);
    return drained;
  };
  const pairs: { without: Drained; with: Drained }[] = [];
  const most = users < DEFAULT_USERS ? 1 : PAIRS;
  for (let n = 0; n < most; n++) {
    // Whichever comes first, so that a machine that gets slower favours neither.
    const first = await drain(n % 2 === 0 ? 0 : PAGES);
    const second = await drain(n % 2 === 0 ? PAGES : 0);
    pairs.push(n % 2 === 0 ? { without: first, with: second } : { without: second, with: first });
  }
  const mean = (of: 'without' | 'with', key: keyof Drained) =>
    pairs.reduce((sum, pair) => sum + pair[of][key], 0) / most;
  const rates = (['without', 'with'] as const).map((of) => Math.round(mean(of, 'usersPerSecond')));
  const means = (key: 'cpu' | 'apiCpu') =>
    (['without', 'with'] as const).map((of) => rounded(mean(of, key), 1)) as [number, number];
  const cpu = means('cpu');
  return [
    resultOf({
      name: 'console-pages',
      value: (cpu[1] / cpu[0] - 1) * 100,
      unit: '%',
      target: TARGET_PERCENT,
      notes: [
        `more processor time a user with ${PAGES} open pages: ${cpu.join(' → ')} µs; target: at most ${TARGET_PERCENT} %`,
        `of which the API ${means('apiCpu').join(' → ')} µs; runs of the same kind differ by more than the target`,
        `${counted(most, 'pair', 'pairs')} of imports of ${users} users: ${rates.join(' → ')} users/s`,
      ],
      extras: { users, pages: PAGES, pairs },
    }),
  ];
}

async function drainWith(scope: Scope, users: number, workers: number, pages: number): Promise<Drained> {
  const stores = await startStores(scope, { redis: true });
  const service = await startService(scope, stores, workers);
  const session = await openSession(scope, service, stores);
  const body = [...importBody(users, service.orgId)];
  await proveReady(service, users);
  const roles = { ...service.roles(), ...stores.roles() };
  const before = cpuTime(roles);
  let opened: Promise<unknown> = Promise.resolve();
  const openPages = async () => {
    const { importId } = (await service.client.call('GET', '/admin/v1/imports?pageSize=1')).imports[0];
    const path = `/console/imports/${importId}/live`;
    await Promise.all(Array.from({ length: pages }, () => session.stream(path, () => {})));
  };
  const { ms } = await importAll(service, body, users, {
    onAccepted: () => {
      if (pages > 0) opened = openPages();
    },
  });
  await opened;
  const cpu = cpuPerUnit(before, cpuTime(roles), users);
  return { usersPerSecond: perSecond(users, ms), cpu: sumOf(cpu), apiCpu: cpu.api ?? 0 };
}
