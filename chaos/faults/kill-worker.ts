/** SIGKILL to a worker; another one starts in its place. */
import { type Fault, oneOf, replace } from './fault.ts';

export const killWorker: Fault = {
  least: 0,
  most: 2500,
  places: (stand, slot) => [oneOf(stand.workers, slot).name],
  strike: (stand, slot, forMs) => replace(stand, oneOf(stand.workers, slot), 'SIGKILL', forMs),
};
