/** SIGKILL to an API; another one starts in its place. */
import { type Fault, oneOf, replace } from './fault.ts';

export const killApi: Fault = {
  least: 0,
  most: 2500,
  places: (stand, slot) => [oneOf(stand.apis, slot).name],
  strike: (stand, slot, forMs) => replace(stand, oneOf(stand.apis, slot), 'SIGKILL', forMs),
};
