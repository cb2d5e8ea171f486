/**
 * Moves due mails from the outbox to the queue, as pointers.
 *
 * Guarantee: the queue holds a bounded number of mails however many the outbox holds. Any number of relays may run, as
 * only one of them claims a row (`for update skip locked`).
 *
 * On crash: a claim moves the row's next attempt into the future. If we crash after it, or the queue loses the job, the
 * row is due again at that time. If the queue still has the job's id, it ignores the duplicate.
 */
import type { Pool } from '../db/pool.ts';
import { type Patience, retryWhileUnavailable } from '../db/retry.ts';
import { type ClaimedMail, claimDue } from './claim.ts';
import { CLAIM_MS, type MailPointer, releaseClaim } from './outbox.ts';
import { prepareReleased } from './released.ts';

/** The queue as the relay uses it. */
export interface MailQueue {
  /** Number of jobs that wait or run. */
  depth(): Promise<number>;
  add(jobs: Array<{ id: string; data: MailPointer; urgent?: boolean }>): Promise<void>;
}

export interface RelayDeps {
  pool: Pool;
  queue: MailQueue;
}

export interface RelayOptions {
  /** Maximum number of mails in the queue. */
  window: number;
  /** Time after which a claimed mail is due again, in milliseconds. */
  handOverMs?: number;
  /** Mails of one import a second; 0 or absent: no limit. */
  perImportRate?: number;
  /** How long the code of a released mail is valid from its hand-over on, in milliseconds. */
  codeTtlMs: number;
  /** For releasing claims after a failed hand-over: queue and database may be unavailable at the same time. */
  patience?: Patience;
}

const SLICE = 500;

/** Hands one slice over to the queue; returns its number of mails. */
export async function relayOnce({ pool, queue }: RelayDeps, options: RelayOptions): Promise<number> {
  const room = options.window - (await queue.depth());
  if (room <= 0) return 0;
  const { handOverMs = CLAIM_MS, perImportRate = 0, codeTtlMs } = options;
  const due = await claimDue(pool, Math.min(room, SLICE), { handOverMs, perImportRate });
  if (due.length === 0) return 0;
  try {
    const released = due.filter((mail) => mail.isReleased).map((mail) => mail.pointer.id);
    await prepareReleased(pool, released, codeTtlMs);
    await queue.add(due.map(jobOf));
  } catch (error) {
    const ids = due.map(({ pointer }) => pointer.id);
    await retryWhileUnavailable(() => releaseClaim(pool, ids), options.patience ?? { ms: 0 });
    throw error;
  }
  return due.length;
}

function jobOf({ pointer: data, isAlone }: ClaimedMail) {
  return { id: `mail-${data.id}-${data.attempt}`, data, ...(isAlone ? { urgent: true } : {}) };
}
