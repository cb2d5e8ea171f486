/** Watches the mails of an import until none is waiting; Ctrl-C stops watching, not the mails. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openOutage, PATIENCE } from '../service/outage.ts';
import type { Session } from '../service/session.ts';
import { type Display, openDisplay } from '../terminal/display.ts';
import { Interrupted, untilInterrupted } from '../terminal/interrupt.ts';
import type { ImportResult } from './import-result.ts';

const EVERY_MS = 1000;

/** @throws Failure when the service goes away and does not come back, or when the person presses Ctrl-C */
export function watchMails(session: Session, importId: string): Promise<ImportResult> {
  const again = `muster status ${importId}`;
  const left = new Interrupted(
    'No longer watching the mails; the service continues to send them.',
    `See how many are left: ${again}`,
  );
  return untilInterrupted(left, async (signal) => {
    const display = openDisplay(session.out);
    const onLost = ({ message }: Error) => display.note(`  ${message} Trying again …`);
    const outage = openOutage({ patience: PATIENCE, signal, onLost, advice: `Check again once it is back: ${again}` });
    try {
      for (;;) {
        const result = await poll(session, importId, signal, display).catch((fault) => outage.wait(fault));
        if (result?.mails.pending === 0) return result;
        if (result) outage.over();
        await sleep(EVERY_MS, undefined, { signal }).catch(() => {
          throw left;
        });
      }
    } finally {
      display.stop();
    }
  });
}

async function poll({ api }: Session, importId: string, signal: AbortSignal, display: Display): Promise<ImportResult> {
  const result = await api.call<ImportResult>('GET', `/admin/v1/imports/${importId}`, { signal });
  const { pending, sent, failed } = result.mails;
  display.update({ done: sent + failed, total: pending + sent + failed, text: 'mails' });
  return result;
}
