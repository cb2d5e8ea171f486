/** The ceiling of `passwords`: bcryptjs alone, in as many threads as there are cores. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Scope } from '../scope.ts';
import type { BareOrder } from './bcrypt-bare-thread.ts';

const FILE = new URL('./bcrypt-bare-thread.ts', import.meta.url);
/** Hashes until V8 has optimized the code. */
const WARM_UP = 4;

export interface BareHashes {
  ms: number;
  /** Processor time, which on a shared machine is steadier than elapsed time. */
  cpuMs: number;
}

/** The time that `threads` warm threads need for `hashes` hashes of that cost. */
export async function bareHashes(scope: Scope, hashes: number, cost: number, threads: number): Promise<BareHashes> {
  const left = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  Atomics.store(left, 0, hashes);
  const order: BareOrder = { cost, warmUp: WARM_UP, left };
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
