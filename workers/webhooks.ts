/** Sends the webhooks of imports that ended; any number of processes may run it. See src/webhooks/deliver.ts. */
import type { Logger } from 'pino';
import type { Condition } from '../src/condition.ts';
import type { Config } from '../src/config.ts';
import type { Pool } from '../src/db/pool.ts';
import { composeEnd } from '../src/imports/status/webhook.ts';
import type { Secrets } from '../src/secrets.ts';
import { webhookRound } from '../src/webhooks/deliver.ts';
import type { DueWebhook } from '../src/webhooks/outbox.ts';
import { type Look, openLook } from './look.ts';
import { startLoop } from './loop.ts';

export interface WebhookSenderDeps {
  pool: Pool;
  config: Pick<Config, 'WEBHOOK_ALLOW_PRIVATE'>;
  secrets: Secrets;
  logger: Logger;
  condition?: Condition;
  look?: Look;
  /** For tests: other delays. */
  retryDelaysMs?: readonly number[];
}

/** `stop` does not wait for receivers: an aborted webhook is due again at once, in another process. */
export function startWebhookSender(all: WebhookSenderDeps): { stop(): Promise<void> } {
  const { config, condition, look = openLook(all.pool), ...deps } = all;
  const stopping = new AbortController();
  const sending = {
    ...deps,
    compose: (due: DueWebhook) => composeEnd(deps.pool, due),
    post: { allowPrivate: config.WEBHOOK_ALLOW_PRIVATE, signal: stopping.signal },
  };
  const round = async () => ((await webhookRound(sending)) > 0 ? 0 : look.until('webhook'));
  const loop = startLoop('webhooks', deps.logger, round, { condition });
  return {
    stop() {
      stopping.abort();
      return loop.stop();
    },
  };
}
