/** The receiver of webhooks answers 500 to the next messages. */
import type { Fault } from './fault.ts';

export const failingReceiver: Fault = {
  least: 0,
  most: 0,
  places: () => ['receiver'],
  async strike(stand, slot) {
    stand.receiver.answer(...Array.from({ length: 1 + (slot % 3) }, () => 500));
  },
};
