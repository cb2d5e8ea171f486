/** SIGKILL to every process at once, as when a machine loses power; the stores stay up. */
import { type Fault, replace } from './fault.ts';

export const killAll: Fault = {
  least: 0,
  most: 2000,
  places: (stand) => [...stand.apis, ...stand.workers].map(({ name }) => name),
  async strike(stand, _slot, forMs) {
    // The parent of `npm start` last: it knows its children only while it lives.
    await Promise.all([...stand.workers, ...stand.apis].map((slot) => replace(stand, slot, 'SIGKILL', forMs)));
  },
};
