/**
 * Watches an import: shows its progress live until it ends; with `--json` no progress is shown.
 *
 * Guarantee: Ctrl-C stops watching, not the import. It waits through a lost connection or a restart of the service, and
 * reports that in one line. The terminal is left as it was found.
 */

import type { Patience } from '../service/outage.ts';
import type { Session } from '../service/session.ts';
import { rateOf } from '../terminal/amounts.ts';
import { openDisplay, type Step } from '../terminal/display.ts';
import { Interrupted, untilInterrupted } from '../terminal/interrupt.ts';
import { follow } from './follow.ts';
import type { ImportResult } from './import-result.ts';
import { type ImportProgress, remainingText, stateText } from './progress.ts';

export interface WatchOptions {
  /** In place of Ctrl-C, for callers that handle it themselves. */
  signal?: AbortSignal | undefined;
  patience?: Patience | undefined;
}

/**
 * Returns the result once the import has ended; waits while it is paused.
 * @throws Failure when the service goes away and does not come back, or when the person presses Ctrl-C
 */
export function watchImport(
  session: Pick<Session, 'api' | 'out'>,
  importId: string,
  { signal, patience }: WatchOptions = {},
): Promise<ImportResult> {
  if (signal) return showUntilEnd(session, importId, signal, patience);
  const left = new Interrupted(
    `No longer watching import ${importId}, which continues.`,
    `Watch again: muster status ${importId} --watch`,
  );
  return untilInterrupted(left, (interruption) => showUntilEnd(session, importId, interruption, patience));
}

async function showUntilEnd(
  { api, out }: Pick<Session, 'api' | 'out'>,
  importId: string,
  signal: AbortSignal,
  patience: Patience | undefined,
): Promise<ImportResult> {
  const display = openDisplay(out);
  try {
    return await follow(api, importId, {
      signal,
      patience,
      onProgress: (progress) => display.update(step(progress)),
      onLost: ({ message }) => display.note(`  ${message} Trying again …`),
    });
  } finally {
    display.stop();
  }
}

function step(progress: ImportProgress): Step {
  const { counts, usersPerSecond } = progress;
  if (progress.state === 'IMPORT_STATE_UNDOING') {
    return { done: counts.undone, total: counts.undone + counts.succeeded, text: 'users undone' };
  }
  const done = counts.total - counts.pending;
  const rate = rateOf(usersPerSecond);
  const rest = progress.state === 'IMPORT_STATE_PAUSED' ? stateText(progress) : remainingText(progress);
  return { done, total: counts.total, text: `users  ${rate}  ${rest}` };
}
