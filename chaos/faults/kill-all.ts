/** SIGKILL to every process at once, as when a machine loses power; the stores stay up. */
import { type Fault, replace } from './fault.ts';

export const killAll: Fault = {
  least: 0,
  most: 2000,
  places: (stand) => [...stand.apis, ...stand.workers].map(({ name }) => name),
  async strike(stand, _slot, forMs) {
    await Promise.all([...stand.apis, ...stand.workers].map((slot) => replace(stand, slot, 'SIGKILL', forMs)));
  },
};
