/**
 * Sends the webhooks of imports that ended; any number of processes may run it. See src/messages/webhooks/sender.ts.
 */
import type { Logger } from 'pino';
import { composeEnd } from '../src/imports/status/webhook.ts';
import type { DueWebhook } from '../src/messages/webhooks/outbox.ts';
import { openSenderSlots } from '../src/messages/webhooks/sender.ts';
import type { Config } from '../src/platform/config.ts';
import type { Pool } from '../src/platform/db/pool.ts';
import type { Secrets } from '../src/platform/encryption.ts';
import type { Condition } from '../src/platform/lifecycle.ts';
import { loggable } from '../src/platform/logger.ts';
import { either, openWorkPoller, type Pause, startLoop, type WorkPoller } from './loop.ts';

export interface WebhookSenderDeps {
  pool: Pool;
  config: Pick<Config, 'WEBHOOK_ALLOW_PRIVATE'>;
  secrets: Secrets;
  logger: Logger;
  condition?: Condition;
  poller?: WorkPoller;
  /** For tests: other delays, another time limit. */
  retryDelaysMs?: readonly number[];
  attemptMs?: number;
}

/** `stop` does not wait for receivers: an aborted webhook is due again at once, in another process. */
export function startWebhookSender(all: WebhookSenderDeps): { stop(): Promise<void> } {
  const { config, condition, poller = openWorkPoller(all.pool), attemptMs, ...deps } = all;
  const stopping = new AbortController();
  const slots = openSenderSlots({
    ...deps,
    compose: (due: DueWebhook) => composeEnd(deps.pool, due),
    post: { allowPrivate: config.WEBHOOK_ALLOW_PRIVATE, signal: stopping.signal, ...(attemptMs && { attemptMs }) },
  });
  async function round(): Promise<Pause> {
    await slots.fill();
    return slots.areTaken() ? slots.untilFree : either(slots.untilFree, poller.until('webhook'));
  }
  const loop = startLoop('webhooks', deps.logger, round, { condition });
  return {
    async stop() {
      stopping.abort();
      await loop.stop();
      await slots.idle().catch((err) => deps.logger.warn({ err: loggable(err) }, 'a webhook was not released'));
    },
  };
}
