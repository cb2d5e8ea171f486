/** Faults of the mail server. */
import type { Misbehaviour } from '../stand/smtp.ts';
import { during, type Fault } from './fault.ts';

function misbehave(how: Misbehaviour): Fault {
  return {
    least: 300,
    most: 4000,
    places: () => ['smtp'],
    async strike(stand, _slot, forMs) {
      stand.smtp.behave(how);
      await during(stand, 'smtp', forMs, () => stand.smtp.behave('none'));
    },
  };
}

/** It replies to the data after a second. */
export const slowSmtp = misbehave('slow');
/** It answers 451 to the data. */
export const refusingSmtp = misbehave('refuse');
/** It answers 421 to the sender. */
export const busySmtp = misbehave('busy');
/** It keeps the mail and breaks the connection instead of replying. */
export const droppingSmtp = misbehave('drop');
