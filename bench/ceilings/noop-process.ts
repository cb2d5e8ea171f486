/**
 * A process of the no-op ceiling: a producer or a worker, controlled over IPC. It ends when its parent does.
 *
 * A worker reports how many jobs it has done, every 20 ms while that changes. A producer reports when it is connected.
 */
import process from 'node:process';
import { addNoops, type NoopStore, openNoopQueue, startNoopWorker } from './noop-queue.ts';

export type NoopOrder =
  | { role: 'producer'; store: NoopStore; jobs: number }
  | { role: 'worker'; store: NoopStore; concurrency: number };

export interface NoopReport {
  /** The process is connected; a producer then waits for the message to begin. */
  ready?: true;
  /** Jobs done so far by this worker. */
  done?: number;
}

const REPORT_MS = 20;

process.on('disconnect', () => process.exit(0));
process.once('message', (order: NoopOrder) => (order.role === 'producer' ? produce(order) : work(order)));

function report(message: NoopReport): void {
  process.send?.(message);
}

async function produce({ store, jobs }: Extract<NoopOrder, { role: 'producer' }>): Promise<void> {
  const queue = await openNoopQueue(store);
  process.once('message', () => addNoops(queue, store.kind, jobs));
  report({ ready: true });
}

async function work({ store, concurrency }: Extract<NoopOrder, { role: 'worker' }>): Promise<void> {
  let done = 0;
  let reported = 0;
  await startNoopWorker(store, concurrency, () => done++);
  setInterval(() => {
    if (done === reported) return;
    reported = done;
    report({ done });
  }, REPORT_MS);
  report({ ready: true });
}
