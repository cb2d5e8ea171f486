/**
 * Delivers a claimed webhook message: compose the body, sign, send, settle. places.ts claims it.
 *
 * Guarantee: a message is sent until it is accepted (2xx), refused permanently (410), or was tried ten times over two
 * days. Its id and body are the same each time; its time and signature are those of the attempt.
 *
 * On crash: between the response and our record of it, the message is sent again, with the same id.
 */
import type { Logger } from 'pino';
import type { Pool } from '../db/pool.ts';
import { publish } from '../observations.ts';
import type { Secrets } from '../secrets.ts';
import { inImport } from '../spans.ts';
import {
  type DueWebhook,
  dropWebhook,
  keepBody,
  releaseWebhook,
  settleWebhook,
  type WebhookOutcome,
} from './outbox.ts';
import { type PostOptions, type PostResult, post } from './post.ts';
import { webhookSecretOf } from './secret.ts';
import { signatureHeaders } from './signature.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pauses after the first, second … failed attempt, in milliseconds; there is one attempt more than pauses. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  30 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
];
const GONE = 410;

export interface WebhookDeps {
  pool: Pool;
  secrets: Secrets;
  logger: Logger;
  /** The message body as JSON; undefined when there is nothing left to report. */
  compose(due: DueWebhook): Promise<string | undefined>;
  post: PostOptions;
  retryDelaysMs?: readonly number[];
}

/** Makes one attempt to send the message, and records its outcome. */
export function deliverWebhook(deps: WebhookDeps, due: DueWebhook): Promise<void> {
  return inImport(due.importId, 'webhook.send', { 'muster.attempt': due.attempts + 1 }, () => deliver(deps, due));
}

async function deliver(deps: WebhookDeps, due: DueWebhook): Promise<void> {
  const { pool } = deps;
  const body = due.body ?? (await deps.compose(due));
  if (body === undefined) return dropWebhook(pool, due.id);
  if (due.body === null) await keepBody(pool, due.id, body);
  const result = await attempt(deps, due, body);
  if ('reason' in result && deps.post.signal?.aborted) return releaseWebhook(pool, due);
  const outcome = outcomeOf(result, due, deps.retryDelaysMs ?? RETRY_DELAYS_MS);
  if (outcome.error !== null) {
    // Omits the URL, whose path may be a secret of the receiver.
    const { importId, attempts } = due;
    deps.logger.warn(
      { importId, attempt: attempts + 1, why: outcome.error, next: outcome.state },
      'webhook delivery failed',
    );
  }
  await settleWebhook(pool, due, outcome);
  publish('webhook', outcome.state === 'pending' ? 'retry' : outcome.state);
}

async function attempt({ pool, secrets, post: options }: WebhookDeps, due: DueWebhook, body: string) {
  const key = await webhookSecretOf(pool, secrets, due.orgId);
  if (key === undefined) return { reason: 'the organization has no webhook secret' };
  const id = `msg_${due.messageId.replaceAll('-', '')}`;
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Muster-Webhook/1',
    // Receivers refuse old times. The clock of this process may be wrong.
    ...signatureHeaders(key.secret, { id, at: key.now, body }),
  };
  return post(due.url, headers, body, options);
}

function outcomeOf(result: PostResult, due: DueWebhook, delays: readonly number[]): WebhookOutcome {
  const status = 'status' in result ? result.status : 0;
  if (status >= 200 && status < 300) return { state: 'sent', error: null, delayMs: 0 };
  const error = 'reason' in result ? result.reason : `answered ${status}`;
  const delayMs = status === GONE ? undefined : delays[due.attempts];
  return delayMs === undefined ? { state: 'failed', error, delayMs: 0 } : { state: 'pending', error, delayMs };
}
