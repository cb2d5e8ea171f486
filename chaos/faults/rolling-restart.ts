/** SIGTERM to one process after the other, each followed by its successor, as an upgrade does. */
import { type Fault, replace } from './fault.ts';

export const rollingRestart: Fault = {
  least: 0,
  most: 300,
  places: (stand) => [...stand.apis, ...stand.workers].map(({ name }) => name),
  async strike(stand, _slot, forMs) {
    for (const slot of [...stand.workers, ...stand.apis]) await replace(stand, slot, 'SIGTERM', forMs);
  },
};
