/**
 * SIGTERM to one process after the other, each followed by its successor, as an upgrade does. The parent of `npm start`
 * stops its children itself.
 */
import { type Fault, replace } from './fault.ts';

export const rollingRestart: Fault = {
  least: 0,
  most: 300,
  places: (stand) => [...stand.apis, ...stand.workers].map(({ name }) => name),
  async strike(stand, _slot, forMs) {
    const own = [...stand.workers, ...stand.apis].filter(({ process }) => process !== undefined);
    for (const slot of own) await replace(stand, slot, 'SIGTERM', forMs);
  },
};
