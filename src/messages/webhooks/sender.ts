/**
 * Sends due webhook messages in a fixed number of sender slots: claim, compose the body, sign, send, settle. A slot
 * that becomes free is filled at once, whatever the others wait for.
 *
 * Guarantee: a message is sent until it is accepted (2xx), refused permanently (410), or was tried ten times over two
 * days. Its id and body are the same each time; its time and signature are those of the attempt. No more than SLOTS
 * messages are in progress, and no more than SHARE of one organization. RESERVED slots go only to organizations
 * without a message in progress, so that a few whose receivers are slow do not take all slots. A free slot goes to
 * the organization with the fewest messages in progress; of several, to the one that was served longest ago.
 *
 * On crash: messages in progress are due again when their claims end. A message whose response was not recorded is sent
 * again, with the same id.
 */
import type { Logger } from 'pino';
import type { Pool } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { openFairQueue } from '../../platform/fair-queue.ts';
import { exchange, type Resolve } from '../../platform/http/outgoing.ts';
import { inImport, publish } from '../../platform/telemetry.ts';
import {
  claimWebhooks,
  type DueWebhook,
  dropWebhook,
  keepBody,
  releaseWebhook,
  settleWebhook,
  type WebhookOutcome,
} from './outbox.ts';
import { signatureHeaders, webhookSecretOf } from './signature.ts';

export const SLOTS = 20;
export const SHARE = 3;
export const RESERVED = 5;
const HOLD_MS = 60_000;
/**
 * This many organizations keep their turn in memory; with more, organizations that were served longer ago count as new.
 */
const REMEMBERED = 200;

export interface SenderSlots {
  /**
   * Begins to send due messages, until there is none, or no slot for it; returns how many it began. Never call it
   * twice at once.
   * @throws the error of the claim, or that of a delivery which could not be recorded since the last call
   */
  fill(): Promise<number>;
  areTaken(): boolean;
  /** Wakes when a slot became free after the last `fill` began; returns how to end the wait. */
  untilFree(wake: () => void): () => void;
  /**
   * Resolves when nothing is in progress.
   * @throws as `fill`
   */
  idle(): Promise<void>;
}

/** Opens the sender slots of this process. */
export function openSenderSlots(deps: WebhookDeps): SenderSlots {
  const inProgress = new Set<Promise<void>>();
  const slots = openFairQueue({ limit: SLOTS, limitPerKey: SHARE, reserve: RESERVED });
  /** The organizations that were served, the last one at the end. */
  const served = new Set<string>();
  const waiting = new Set<() => void>();
  let hasFreed = false;
  let fault: { error: unknown } | undefined;

  function begin(due: DueWebhook): void {
    const leave = slots.take(due.orgId);
    remember(due.orgId);
    const sending: Promise<void> = deliverWebhook(deps, due)
      .catch((error) => {
        fault ??= { error };
      })
      .then(() => {
        leave();
        inProgress.delete(sending);
        hasFreed = true;
        for (const wake of waiting) wake();
      });
    inProgress.add(sending);
  }

  function remember(orgId: string): void {
    served.delete(orgId);
    served.add(orgId);
    const [first] = served;
    if (first !== undefined && served.size > REMEMBERED) served.delete(first);
  }

  /** Claims up to `limit` due messages, one per organization, leaving out `except`. */
  async function claim(limit: number, except: string[]): Promise<number> {
    const claimed = await claimWebhooks(deps.pool, { limit, holdMs: HOLD_MS, except, last: [...served] });
    for (const due of claimed) begin(due);
    return claimed.length;
  }

  function throwFault(): void {
    const thrown = fault;
    fault = undefined;
    if (thrown) throw thrown.error;
  }

  return {
    async fill() {
      hasFreed = false;
      throwFault();
      let begun = 0;
      let last: { claimed: number; except: string[] } | undefined;
      for (let most = 0; most < SHARE && !deps.post.signal?.aborted; most++) {
        const room = slots.freeFor(most);
        if (room <= 0) break;
        const except = [...slots.held].filter(([, n]) => n > most).map(([orgId]) => orgId);
        // These organizations were asked just now, and had nothing.
        if (last?.claimed === 0 && last.except.length === except.length) continue;
        last = { claimed: await claim(room, except), except };
        begun += last.claimed;
      }
      return begun;
    },
    areTaken: () => slots.freeFor(0) <= 0,
    untilFree(wake) {
      if (hasFreed) wake();
      waiting.add(wake);
      return () => waiting.delete(wake);
    },
    async idle() {
      while (inProgress.size > 0) await Promise.all(inProgress);
      throwFault();
    },
  };
}

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

const ATTEMPT_MS = 15_000;
const MAX_ANSWER_BYTES = 16_384;

export interface PostOptions {
  /** Allows private addresses and plain http. */
  allowPrivate: boolean;
  /** Aborts the attempt. */
  signal?: AbortSignal;
  /** For tests: another resolver and another timeout. */
  resolve?: Resolve;
  attemptMs?: number;
}

/** The status of the response, or why there is none: a code such as `ECONNREFUSED`. */
export type PostResult = { status: number } | { reason: string };

/**
 * Sends one attempt over HTTP as `exchange` does. Takes at most 15 seconds, and reads only a few KB of a response, of
 * which only the status counts.
 */
export async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  { attemptMs = ATTEMPT_MS, ...options }: PostOptions,
): Promise<PostResult> {
  const limits = { ...options, timeoutMs: attemptMs, mostBytes: MAX_ANSWER_BYTES };
  const result = await exchange(url, headers, body, limits);
  return 'status' in result ? { status: result.status } : result;
}
