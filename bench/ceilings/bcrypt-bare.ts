/**
 * The ceilings of `passwords` and `logins`: bcryptjs alone, and the library that the service uses alone, in as many
 * threads. The former stays the same when the service takes a faster library; the latter shows what the rest costs.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { bcryptLibrary } from '../../src/passwords/schemes/bcrypt.ts';
import { rounded } from '../bench.ts';
import type { Scope } from '../scope.ts';
import type { BareOrder } from './bcrypt-bare-thread.ts';

const FILE = new URL('./bcrypt-bare-thread.ts', import.meta.url);
/** Hashes until V8 has optimized the code. */
const WARM_UP = 4;
const KINDS = ['bcryptjs', 'service'] as const;

interface BareHashes {
  ms: number;
  /** Processor time, which on a shared machine is steadier than elapsed time. */
  cpuMs: number;
}

export interface BareOrders {
  /** In each measurement. */
  hashes: number;
  cost: number;
  threads: number;
}

/** One measurement of each. */
export type Bare = Record<(typeof KINDS)[number], BareHashes>;

/** What `bareFigures` says of all measurements. */
interface BareFigures {
  /** Hashes per second of bcryptjs, and of the library of the service. */
  ceiling: number;
  own: number;
  /** Microseconds of processor time of a hash. */
  cpu: number;
  ownCpu: number;
  /** Hashes per second of each measurement of bcryptjs. */
  each: number[];
}

/** Measures both, the one after the other, in warm threads. */
export async function bareHashes(scope: Scope, orders: BareOrders): Promise<Bare> {
  const measured = (of: BareOrder['of']) => scope.within((inner) => hashesOf(inner, of, orders));
  return { bcryptjs: await measured('bcryptjs'), service: await measured('service') };
}

export function bareFigures(bare: Bare[], { hashes }: BareOrders): BareFigures {
  const sum = (of: keyof Bare, figure: keyof BareHashes) => bare.reduce((total, one) => total + one[of][figure], 0);
  const count = hashes * bare.length;
  const rate = (of: keyof Bare) => rounded((count / sum(of, 'ms')) * 1000, 1);
  const cpu = (of: keyof Bare) => rounded((1000 * sum(of, 'cpuMs')) / count, 1);
  const each = bare.map(({ bcryptjs }) => rounded((hashes / bcryptjs.ms) * 1000, 1));
  return { ceiling: rate('bcryptjs'), own: rate('service'), cpu: cpu('bcryptjs'), ownCpu: cpu('service'), each };
}

/** The lines of a table for a rate of the service. */
export function bareNotes(value: number, { own, cpu, ownCpu }: BareFigures, { threads }: BareOrders): string[] {
  const { name } = bcryptLibrary();
  return [
    `${name}, which the service uses, alone in ${threads} threads: ${own} hashes/s, ratio ${rounded(value / own, 2)}`,
    `CPU µs per bare hash: bcryptjs ${Math.round(cpu)}, ${name} ${Math.round(ownCpu)}`,
  ];
}

/** The keys of the line of JSON. */
export function bareExtras(value: number, { own, cpu, ownCpu, each }: BareFigures): Record<string, unknown> {
  const library = bcryptLibrary().name;
  return { library, bare: each, own, ownRatio: rounded(value / own, 3), bareCpu: cpu, ownBareCpu: ownCpu };
}

async function hashesOf(scope: Scope, of: BareOrder['of'], { hashes, cost, threads }: BareOrders): Promise<BareHashes> {
  const left = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  Atomics.store(left, 0, hashes);
  const order: BareOrder = { of, cost, warmUp: WARM_UP, left };
  const workers = await Promise.all(Array.from({ length: threads }, () => startThread(scope, order)));
  await Promise.all(workers.map(({ ready }) => ready));
  const cpu = process.cpuUsage();
  const start = performance.now();
  const done = workers.map(({ thread }) => once(thread, 'message'));
  for (const { thread } of workers) thread.postMessage('go');
  await Promise.all(done);
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, cpuMs: (user + system) / 1000 };
}

async function startThread(scope: Scope, order: BareOrder) {
  const thread = await scope.start(
    async () => new Worker(FILE, { workerData: order }),
    (worker) => worker.terminate(),
  );
  return { thread, ready: once(thread, 'message') };
}
