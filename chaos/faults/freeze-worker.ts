/** SIGSTOP to a worker, for longer or shorter than its job locks and the deadlines of imports; then SIGCONT. */
import { during, type Fault, oneOf } from './fault.ts';

export const freezeWorker: Fault = {
  least: 500,
  most: 7000,
  places: (stand, slot) => [oneOf(stand.workers, slot).name],
  async strike(stand, slot, forMs) {
    const worker = oneOf(stand.workers, slot);
    worker.signal('SIGSTOP');
    await during(stand, worker.name, forMs, () => worker.signal('SIGCONT'));
  },
};
