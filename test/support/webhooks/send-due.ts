/** Sends webhook messages without a worker. */
import { openSenderSlots, type WebhookDeps } from '../../../src/messages/webhooks/sender.ts';

/** Sends all messages that are due; returns how many attempts that took. */
export async function sendDue(deps: WebhookDeps): Promise<number> {
  const slots = openSenderSlots(deps);
  let attempts = 0;
  for (let begun = await slots.fill(); begun > 0; begun = await slots.fill()) {
    attempts += begun;
    await slots.idle();
  }
  return attempts;
}
