/**
 * The role `mail`: relays the outbox into the queue and processes the queue. Any number of processes may run it.
 *
 * Guarantee: MAIL_RATE applies to all processes together. Stopping takes no more mails, finishes and records those in
 * progress, and then closes the connections.
 * On crash: the mails of the process are queued again when their claims expire; see src/messages/mail/relay.ts.
 */
import type { Logger } from 'pino';
import type { Queues } from '../src/imports/queue/queues.ts';
import { deliverMail, openBatchCommitter, openBatchLoader, type RedeliveryRisk } from '../src/messages/mail/deliver.ts';
import type { Transport } from '../src/messages/mail/message.ts';
import { openTextTransport, openTransport } from '../src/messages/mail/open-transport.ts';
import { CLAIM_MS, type MailPointer, releaseClaim } from '../src/messages/mail/outbox.ts';
import {
  type MailQueue,
  openRateLimiter,
  type RelayOptions,
  recordDeliveries,
  relayOnce,
} from '../src/messages/mail/relay.ts';
import { SMTP_CONNECTIONS } from '../src/messages/mail/smtp.ts';
import type { Config } from '../src/platform/config.ts';
import { type Patience, retryWhileUnavailable } from '../src/platform/db/faults.ts';
import type { Pool } from '../src/platform/db/pool.ts';
import type { Secrets } from '../src/platform/encryption.ts';
import type { Condition } from '../src/platform/lifecycle.ts';
import { type FreezeWatch, watchFreezes } from '../src/platform/timeouts.ts';
import { LOOK_MS, openWorkPoller, type Pause, startLoop, type WorkPoller } from './loop.ts';

/**
 * Mails in progress in one process: so many more than SMTP connections that these always have one to send while others
 * are loaded or recorded, a group at a time.
 */
const CONCURRENCY = 64;
const WINDOW = 1000;
/** With a rate limit, the queue holds the mails of this many seconds. */
const WINDOW_SECONDS = 60;
/** Held mails and mails to be tried again later are looked for this often. */
const IDLE_MS = 250;
/** With a rate per import, mails are queued a few at a time. */
const RATED_MS = 50;
const FAULT_MS = 2000;
/** How long to retry while the database is unavailable; after that a mail in progress waits until its claim expires. */
const PATIENCE_MS = 60_000;

/** How long after a failure of the store a job may still be run twice: as long as the first run may wait to send. */
const LINGER_MS = 2 * CLAIM_MS;

export interface MailerDeps {
  pool: Pool;
  config: Config;
  secrets: Secrets;
  queues: Queues;
  logger: Logger;
  condition?: Condition;
  poller?: WorkPoller;
  /** For tests: another transport, other delays. */
  transport?: Transport;
  retryDelaysMs?: readonly number[];
}

export interface Mailer {
  /** The number of jobs in progress. */
  inProgress(): number;
  /** Idempotent. */
  stop(): Promise<void>;
}

/**
 * Notices when a mail that this process is about to send may also be in other hands:
 *
 * - The process stood still (src/platform/timeouts.ts): its claim or the lock of its job may have expired meanwhile.
 * - The store of the queue failed. A store that restarts may have lost the last moments, and then hands a job out again
 *   that is still being run: Redis writes its file once a second, and the queue's commits in PostgreSQL do not wait for
 *   the disk.
 */
export interface MailRedeliveryRisk extends RedeliveryRisk {
  /** Call it when the store of the queue fails. */
  storeFailed(): void;
}

export function startMailer(deps: MailerDeps): Mailer {
  const { pool, config, queues, logger } = deps;
  const transport = deps.transport ?? openTransport(config);
  let stopped: Promise<void> | undefined;
  const patience = { ms: PATIENCE_MS, isStopping: () => stopped !== undefined };
  const freezes = watchFreezes();
  const risk = openRedeliveryRisk(freezes);
  const rateLimiter = config.MAIL_RATE > 0 ? openRateLimiter(pool, config.MAIL_RATE) : undefined;
  const deliver = openDelivery(deps, { transport, risk, rateLimiter, patience });
  // A worker that froze may still send the mail of a job that was taken from it. If it died, the mail is due again when
  // its claim expires.
  const worker = queues.work<MailPointer>('mails', async (job) => (job.isTakenOver ? undefined : deliver(job.data)), {
    concurrency: concurrencyOf(config),
    lockMs: config.JOB_LOCK_MS,
    onError: (error) => logger.warn({ reason: error.message }, 'mail queue'),
    onStoreFault: risk.storeFailed,
  });
  const relayed = relayRound(pool, queues, deps.poller ?? openWorkPoller(pool), {
    window: windowOf(config),
    perImportRate: config.MAIL_RATE_PER_IMPORT,
    codeTtlMs: config.CODE_TTL_MS,
    patience,
  });
  const relay = startLoop('mail relay', logger, relayed, { afterFaultMs: FAULT_MS, condition: deps.condition });

  async function stop(): Promise<void> {
    await relay.stop();
    rateLimiter?.stop();
    await worker.stop();
    freezes.stop();
    transport.close();
  }
  return {
    inProgress: worker.inProgress,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

/**
 * Delivers the mail of a job, or releases its claim if this process stops while the mail waits for the rate limiter.
 */
function openDelivery(
  deps: MailerDeps,
  {
    transport,
    risk,
    rateLimiter,
    patience,
  }: {
    transport: Transport;
    risk: MailRedeliveryRisk;
    rateLimiter: ReturnType<typeof openRateLimiter> | undefined;
    patience: Patience;
  },
): (pointer: MailPointer) => Promise<void> {
  const { pool, config } = deps;
  // Retried here and below: better to record a sent mail late than to send it again.
  const settler = openBatchCommitter((group) => retryWhileUnavailable(() => recordDeliveries(pool, group), patience));
  const texts = openTextTransport(config);
  const delivery = { ...deps, transport, texts, settler, loader: openBatchLoader(pool), risk };
  return async (pointer) => {
    const may = !rateLimiter || (await retryWhileUnavailable(() => rateLimiter.turn(), patience));
    if (may) await retryWhileUnavailable(() => deliverMail(delivery, pointer), patience);
    else await retryWhileUnavailable(() => releaseClaim(pool, [pointer.id]), patience);
  };
}

export function openRedeliveryRisk(freezes: Pick<FreezeWatch, 'since'>): MailRedeliveryRisk {
  let failedAt = Number.NEGATIVE_INFINITY;
  const since = (then: number) => freezes.since(then) || failedAt > then;
  return {
    existsFor: (loadedAt) => freezes.since(loadedAt) || failedAt > loadedAt - LINGER_MS,
    since,
    storeFailed() {
      failedAt = performance.now();
    },
  };
}

/**
 * How many mails are in progress. Mails that wait for the rate limiter count too: few, so that little is reserved, but
 * as many as may be sent at once.
 */
function concurrencyOf({ MAIL_RATE }: Config): number {
  return MAIL_RATE > 0 ? Math.min(CONCURRENCY, Math.max(SMTP_CONNECTIONS, MAIL_RATE)) : CONCURRENCY;
}

function relayRound(pool: Pool, queues: Queues, poller: WorkPoller, options: RelayOptions): () => Promise<Pause> {
  const queue: MailQueue = {
    depth: () => queues.depth('mails'),
    add: (jobs) => queues.add('mails', jobs),
  };
  return async () => {
    const handed = await relayOnce({ pool, queue }, options);
    if (options.perImportRate) return RATED_MS;
    return handed > 0 ? 0 : poller.until('mail', { afterMs: IDLE_MS - LOOK_MS });
  };
}

function windowOf(config: Config): number {
  return config.MAIL_RATE > 0 ? Math.min(WINDOW, config.MAIL_RATE * WINDOW_SECONDS) : WINDOW;
}
