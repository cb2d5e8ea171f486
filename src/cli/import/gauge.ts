/** Progress of work with a known total, shown once it has taken a second: small files need no bar. */

import { rateOf } from '../terminal/amounts.ts';
import { openDisplay, type Step } from '../terminal/display.ts';
import type { Output } from '../terminal/output.ts';

export interface Gauge {
  update(done: number): void;
  /** Shows the last state, such as 100 %. */
  stop(): void;
}

const SHOW_AFTER_MS = 1000;
const SHOW_EVERY_MS = 100;

/** @param what is counted, and what is done with it: `users sent`; for bytes, what is done with them: `read` */
export function openGauge(out: Output, total: number, what: string, { isBytes = false } = {}): Gauge {
  const display = openDisplay(out);
  const startedAt = Date.now();
  let isShown = false;
  let last: Step | undefined;
  let shownAt = startedAt + SHOW_AFTER_MS - SHOW_EVERY_MS;
  return {
    update(done) {
      const now = Date.now();
      const rate = rateOf((done * 1000) / Math.max(1, now - startedAt), isBytes);
      last = { done: Math.min(done, total), total, isBytes, text: `${what}  ${rate}` };
      if (now - shownAt < SHOW_EVERY_MS) return;
      shownAt = now;
      isShown = true;
      display.update(last);
    },
    stop() {
      // The last step may have come too soon after the one before to be shown.
      if (isShown && last) display.update(last);
      display.stop();
    },
  };
}
