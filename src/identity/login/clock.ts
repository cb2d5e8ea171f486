import { setTimeout } from 'node:timers/promises';

/** The time that answers to attempts are measured by. */
export interface Clock {
  /** Milliseconds since any fixed moment. */
  now(): number;
  sleep(ms: number): Promise<unknown>;
}

export const CLOCK: Clock = { now: () => performance.now(), sleep: (ms) => setTimeout(ms) };
