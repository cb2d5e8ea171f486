/**
 * How old what a live page shows is: the time since the database had more users written than the page says.
 *
 * Guarantee: every reading of the database counts, so also the time between two updates of the page does.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from '../testbed/running.ts';
import type { Session } from './session.ts';

const READ_EVERY_MS = 25;

interface Step {
  at: number;
  succeeded: number;
}

/** Opens the page of the running import and watches it. @returns a function that ends that, and returns the ages in ms */
export async function watchLag({ stores, importId }: Running, session: Session): Promise<() => Promise<number[]>> {
  /** Of the database, since the page was right. */
  let newer: Step[] = [];
  let shown = -1;
  const ages: number[] = [];
  let rest = '';
  await session.stream(`/console/imports/${importId}/live`, (text) => {
    const messages = (rest + text).split('\n\n');
    rest = messages.pop() ?? '';
    for (const message of messages) shown = shownIn(message) ?? shown;
    newer = newer.filter(({ succeeded }) => succeeded > shown);
  });
  let isOver = false;
  const read = async () => {
    while (!isOver) {
      const { rows } = await stores.pool.query<Step>('select succeeded from imports where id = $1', [importId]);
      const at = performance.now();
      const { succeeded = 0 } = rows[0] ?? {};
      if (shown >= 0 && succeeded > shown) newer.push({ at, succeeded });
      if (shown >= 0) ages.push(at - (newer[0]?.at ?? at));
      await sleep(READ_EVERY_MS);
    }
  };
  const reading = read();
  return async () => {
    isOver = true;
    await reading;
    return ages;
  };
}

/** How many users have been written, as a message of the stream says. */
function shownIn(message: string): number | undefined {
  const data = /^data: (\{.*\})$/m.exec(message)?.[1];
  const { text } = data ? (JSON.parse(data) as { text?: Record<string, string> }) : {};
  return text?.succeeded === undefined ? undefined : Number(text.succeeded.replace(/\D/g, ''));
}
