/**
 * `tracing`: microseconds of processor time that a user of a bulk import takes while every trace is recorded and sent to
 * a collector (a process of its own, which is not counted).
 *
 * Ceiling: the same without tracing. Rounds with and without alternate, each on new stores, with Redis as the queue. The
 * ratio is the median of the ratios of neighbouring rounds, because costs drift on a shared machine.
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeout } from '../../src/platform/timeouts.ts';
import { type Context, counted, percentile, perSecond, type Result, rounded, Skipped } from '../bench.ts';
import { cpuPerUnit, cpuTime, hasProc, sumOf } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { messageOf, startHelper } from '../testbed/helper.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import type { Collected } from '../testbed/otlp-process.ts';
import { redisVersion } from '../testbed/stores.ts';
import { startService, startStores } from '../testbed/testbed.ts';

const COLLECTOR = new URL('../testbed/otlp-process.ts', import.meta.url);
const DEFAULT_USERS = 100_000;
/** Odd, so that one pair is in the middle. */
const PAIRS = 9;
const TARGET = 1.05;
const POLL_MS = 100;
/** Processes send their spans every five seconds. */
const ARRIVES_MS = 30_000;

interface Round {
  /** Microseconds of all processes of the service and the stores, per user. */
  cpu: number;
  perSecond: number;
  /** What the collector got. */
  kilobytes: number;
}

interface Pair {
  on: Round;
  off: Round;
}

export async function tracing(context: Context): Promise<Result[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  if (!hasProc()) throw new Skipped('this machine has no /proc');
  const { scope, say, users = DEFAULT_USERS } = context;
  const workers = Math.max(1, context.workers);
  const wanted = users < DEFAULT_USERS ? 1 : PAIRS;
  const pairs: Pair[] = [];
  for (let n = 0; n < wanted; n++) {
    const pair: Partial<Pair> = {};
    // The order alternates from pair to pair.
    for (const state of n % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const)) {
      pair[state] = await scope.within((inner) => drainOnce(inner, state === 'on', users, workers));
    }
    const { on, off } = pair as Pair;
    pairs.push({ on, off });
    say(`tracing: pair ${n + 1} of ${wanted}, ${told(on)}; without ${told(off)}`);
  }
  return [resultOf(pairs, users, workers)];
}

async function drainOnce(scope: Scope, isTraced: boolean, users: number, workers: number): Promise<Round> {
  const stores = await startStores(scope, { redis: true });
  const { child, ready } = await startHelper<Collected>(scope, COLLECTOR, {});
  const settings: Record<string, string> = isTraced ? { OTEL_EXPORTER_OTLP_ENDPOINT: ready.url } : {};
  const service = await startService(scope, stores, workers, settings);
  const body = [...importBody(users, service.orgId)];
  await proveReady(service, users);
  const roles = { ...service.roles(), ...stores.roles() };
  const before = cpuTime(roles);
  const { ms } = await importAll(service, body, users);
  const cpu = sumOf(cpuPerUnit(before, cpuTime(roles), users));
  const bytes = isTraced ? await bytesOf(child) : 0;
  return { cpu, perSecond: perSecond(users, ms), kilobytes: rounded(bytes / 1000, 1) };
}

/** @throws TimedOut when no span arrives */
function bytesOf(collector: ChildProcess): Promise<number> {
  const poll = async () => {
    for (;;) {
      collector.send({});
      const { bytes } = await messageOf<Collected>(collector);
      if (bytes > 0) return bytes;
      await sleep(POLL_MS);
    }
  };
  return withTimeout(poll(), ARRIVES_MS, 'the first span');
}

function told({ cpu, perSecond }: Round): string {
  return `${cpu} µs per user, ${perSecond} users/s`;
}

function resultOf(pairs: Pair[], users: number, workers: number): Result {
  const median = (of: (pair: Pair) => number) => percentile(pairs.map(of), 0.5);
  const ratios = pairs.map(({ on, off }) => rounded(on.cpu / off.cpu, 3));
  const ratio = percentile(ratios, 0.5);
  const notes = [
    `${users} users, ${counted(workers, 'worker', 'workers')}, every trace recorded; less is better`,
    `ceiling: the same without tracing; ratios of the pairs ${ratios.join(', ')}; target: at most ${TARGET}`,
    `users/s with ${median(({ on }) => on.perSecond)}, without ${median(({ off }) => off.perSecond)}; the collector got ${median(({ on }) => on.kilobytes)} kB`,
  ];
  const [value, ceiling] = [median(({ on }) => on.cpu), median(({ off }) => off.cpu)];
  return {
    name: 'tracing',
    value,
    unit: 'µs',
    ceiling,
    ratio,
    notes,
    extras: { users, workers, target: TARGET, pairs },
  };
}
