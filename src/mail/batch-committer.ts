/**
 * Group commit for mail outcomes: outcomes that arrive during one commit go into the next one.
 *
 * Guarantee: `settle` returns once its outcome is durable. A group is never larger than the number of deliveries in
 * progress, so it needs no limit.
 *
 * On crash: the mail is delivered again with the same Message-ID.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MailOutcome } from './settle.ts';

export interface BatchCommitter {
  /** @throws Error when the database refused the group after all retries */
  settle(outcome: MailOutcome): Promise<void>;
}

export interface BatchCommitterOptions {
  /** How long the first outcome of a group waits for others, in milliseconds. */
  gatherMs?: number;
  /** Pauses before each retry of a group that the database refused, in milliseconds. */
  retryDelaysMs?: readonly number[];
}

interface Waiting {
  outcome: MailOutcome;
  resolve: () => void;
  reject: (error: unknown) => void;
}

const RETRY_DELAYS_MS = [50, 200, 1000, 3000];

/** @param write settles a group in one transaction */
export function openBatchCommitter(
  write: (group: MailOutcome[]) => Promise<void>,
  options: BatchCommitterOptions = {},
): BatchCommitter {
  const { gatherMs = 5, retryDelaysMs = RETRY_DELAYS_MS } = options;
  let waiting: Waiting[] = [];
  let running = false;

  async function run(): Promise<void> {
    await sleep(gatherMs);
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      await commit(group);
    }
    running = false;
  }

  async function commit(group: Waiting[]): Promise<void> {
    const outcomes = group.map((w) => w.outcome);
    for (let attempt = 0; ; attempt++) {
      try {
        await write(outcomes);
        for (const w of group) w.resolve();
        return;
      } catch (error) {
        const delay = retryDelaysMs[attempt];
        if (delay === undefined) {
          for (const w of group) w.reject(error);
          return;
        }
        await sleep(delay);
      }
    }
  }

  return {
    settle: (outcome) =>
      new Promise((resolve, reject) => {
        waiting.push({ outcome, resolve, reject });
        if (running) return;
        running = true;
        void run();
      }),
  };
}
