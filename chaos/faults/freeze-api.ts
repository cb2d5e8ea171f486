/** SIGSTOP to an API in the middle of its requests; then SIGCONT. */
import { during, type Fault, oneOf } from './fault.ts';

export const freezeApi: Fault = {
  least: 500,
  most: 5000,
  places: (stand, slot) => [oneOf(stand.apis, slot).name],
  async strike(stand, slot, forMs) {
    const api = oneOf(stand.apis, slot);
    api.signal('SIGSTOP');
    await during(stand, api.name, forMs, () => api.signal('SIGCONT'));
  },
};
