/**
 * Checks users that are at the service as a draft: a dry run of them, which shows what their import would do.
 *
 * Guarantee: Ctrl-C stops watching, not the check; the draft stays, and can be started or discarded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ImportResult } from '../imports/import-result.ts';
import { watchImport } from '../imports/watch.ts';
import { openOutage, PATIENCE } from '../service/outage.ts';
import type { Session } from '../service/session.ts';
import { Failure } from '../terminal/failure.ts';
import { Interrupted, untilInterrupted } from '../terminal/interrupt.ts';
import type { RunOptions } from './run-options.ts';
import { untilTaken } from './upload.ts';

const EVERY_MS = 200;

/** A draft, as the service shows it. */
interface DraftResult extends ImportResult {
  missingRoles?: string[];
  draft?: { error?: { message: string }; check?: { importId: string } };
}

/** The options of `_check` and `_start`. */
export function settingsOf({ timeout, onExisting, mails }: RunOptions): Record<string, string | undefined> {
  return { timeout, onExisting, mails };
}

/** The result of the dry run, once it has ended. @throws Failure @throws Interrupted */
export function checkDraft(session: Session, importId: string, options: RunOptions): Promise<ImportResult> {
  const { api, out } = session;
  const path = `/admin/v1/imports/${importId}`;
  const left = new Interrupted(
    'Interrupted while the users were checked. The service keeps them as a draft; nothing was imported.',
    `Start it with \`muster start ${importId}\`, or drop it with \`muster discard ${importId}\`.`,
  );
  return untilInterrupted(left, async (signal) => {
    const again = (why: string, seconds: number) => out.note(`${why} Trying again in ${seconds} s.`);
    const body = settingsOf(options);
    await untilTaken(() => api.call('POST', `${path}/_check`, { body, signal }), again, signal);
    return watchImport(session, await checkId(session, path, signal), { signal });
  });
}

/** The number of the dry run, once a worker has begun it. */
async function checkId({ api, out }: Session, path: string, signal: AbortSignal): Promise<string> {
  const outage = openOutage({
    ...{ patience: PATIENCE, signal, advice: 'Check again once the service is back.' },
    onLost: ({ message }) => out.note(`${message} Trying again …`),
  });
  let isWarned = false;
  for (;;) {
    const now = await api.call<DraftResult>('GET', path, { signal }).catch((fault) => outage.wait(fault));
    const { check, error } = now?.draft ?? {};
    if (check) return check.importId;
    if (error) throw new Failure(error.message);
    if (now) outage.over();
    if (now?.missingRoles?.length && !isWarned) {
      out.note(`Waiting for a worker with the role ${now.missingRoles.join(', ')}: none is running.`);
      isWarned = true;
    }
    await sleep(EVERY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
