/** A thread of the bare hashes: warms up, reports that, and computes one hash after the other until none is left. */
import { parentPort, workerData } from 'node:worker_threads';
import bcrypt from 'bcryptjs';

const PASSWORD = 'correct horse battery staple';

export interface BareOrder {
  cost: number;
  warmUp: number;
  /** Number of hashes that no thread has taken yet. */
  left: Int32Array;
}

const { cost, warmUp, left } = workerData as BareOrder;

for (let n = 0; n < warmUp; n++) bcrypt.hashSync(PASSWORD, cost);
parentPort?.once('message', () => {
  while (Atomics.sub(left, 0, 1) > 0) bcrypt.hashSync(PASSWORD, cost);
  parentPort?.postMessage('done');
  parentPort?.close();
});
parentPort?.postMessage('ready');
