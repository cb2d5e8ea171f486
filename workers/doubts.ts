/**
 * Notices when a mail that this process is about to send may also be in other hands:
 *
 * - The process stood still (src/freeze.ts): its claim or the lock of its job may have expired meanwhile.
 * - The store of the queue failed. A store that restarts may have lost the last moments, and then hands a job out again
 *   that is still being run: Redis writes its file once a second, and the queue's commits in PostgreSQL do not wait for
 *   the disk.
 *
 * On crash: nothing is lost; the mails of a process that died are due again when their claims expire.
 */
import type { FreezeWatch } from '../src/freeze.ts';
import type { Doubts } from '../src/mail/deliver.ts';
import { CLAIM_MS } from '../src/mail/outbox.ts';

/** How long after a failure of the store a job may still be run twice: as long as the first run may wait to send. */
const LINGER_MS = 2 * CLAIM_MS;

export interface MailDoubts extends Doubts {
  /** Call it when the store of the queue fails. */
  storeFailed(): void;
}

export function openDoubts(freezes: Pick<FreezeWatch, 'since'>): MailDoubts {
  let failedAt = Number.NEGATIVE_INFINITY;
  const since = (then: number) => freezes.since(then) || failedAt > then;
  return {
    about: (loadedAt) => freezes.since(loadedAt) || failedAt > loadedAt - LINGER_MS,
    since,
    storeFailed() {
      failedAt = performance.now();
    },
  };
}
