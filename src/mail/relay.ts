/**
 * Moves mails that are due from the outbox to the queue, as pointers.
 *
 * Guarantee: the queue holds a bounded number of mails whatever the outbox holds; any number of relays may run, as a row
 * is claimed by one of them (`for update skip locked`). A claim pushes the row's next attempt into the future: if we
 * die after it, or the queue forgets the job, the row is due again when that time has come, and until then an id that
 * the queue still knows is ignored.
 */
import type { Pool } from '../db/pool.ts';
import { type Patience, retryWhileUnavailable } from '../db/retry.ts';
import { type ClaimedMail, claimDue } from './claim.ts';
import { type MailPointer, releaseClaim } from './outbox.ts';
import { prepareReleased } from './released.ts';

/** The queue as the relay sees it. */
export interface MailQueue {
  /** Jobs that wait or run. */
  depth(): Promise<number>;
  add(jobs: Array<{ id: string; data: MailPointer; urgent?: boolean }>): Promise<void>;
}

export interface RelayDeps {
  pool: Pool;
  queue: MailQueue;
}

export interface RelayOptions {
  /** Most mails in the queue. */
  window: number;
  /** How long the queue has for a mail before it is handed over again, in milliseconds. */
  handOverMs?: number;
  /** Mails of one import a second; 0 or absent: no limit. */
  perImportRate?: number;
  /** How long the code of a mail that was held is good for, from its hand-over on. */
  codeTtlMs: number;
  /** For giving back what could not be handed over: queue and database may be away at once. */
  patience?: Patience;
}

/**
 * As long as a mail waits when the queue forgot it. A mail that is still in the queue then is offered again and ignored,
 * which costs one look a minute at what waits.
 */
const HAND_OVER_MS = 60_000;
const SLICE = 500;

/** Hands one slice over; returns how many mails it held. */
export async function relayOnce({ pool, queue }: RelayDeps, options: RelayOptions): Promise<number> {
  const room = options.window - (await queue.depth());
  if (room <= 0) return 0;
  const { handOverMs = HAND_OVER_MS, perImportRate = 0, codeTtlMs } = options;
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
