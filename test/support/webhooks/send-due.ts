/** Sends webhook messages without a worker. */
import { openWebhookPlaces, type WebhookDeps } from '../../../src/messages/webhooks/sender.ts';

/** Sends all messages that are due; returns how many attempts that took. */
export async function sendDue(deps: WebhookDeps): Promise<number> {
  const places = openWebhookPlaces(deps);
  let attempts = 0;
  for (let begun = await places.fill(); begun > 0; begun = await places.fill()) {
    attempts += begun;
    await places.idle();
  }
  return attempts;
}
