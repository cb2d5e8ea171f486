/** A thread of the bare hashes: warms up, reports that, and computes one hash after the other until none is left. */
import { parentPort, workerData } from 'node:worker_threads';
import { bcryptLibrary, openBcrypt } from '../../src/passwords/schemes/bcrypt.ts';

const PASSWORD = 'correct horse battery staple';
const SALT = 'MusterNoSuchUserHere.u';

export interface BareOrder {
  /** bcryptjs, or the library that the service uses here. */
  of: 'bcryptjs' | 'service';
  cost: number;
  warmUp: number;
  /** Number of hashes that no thread has taken yet. */
  left: Int32Array;
}

const { of, cost, warmUp, left } = workerData as BareOrder;

const bcrypt = of === 'service' ? bcryptLibrary() : openBcrypt(withoutNative);
const compute = () => bcrypt.hash(PASSWORD, cost, SALT);

for (let n = 0; n < warmUp; n++) compute();
parentPort?.once('message', () => {
  while (Atomics.sub(left, 0, 1) > 0) compute();
  parentPort?.postMessage('done');
  parentPort?.close();
});
parentPort?.postMessage('ready');

function withoutNative(): never {
  throw new Error('bcryptjs is measured');
}
