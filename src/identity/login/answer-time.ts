/**
 * When a wrong password is answered: at a time that does not depend on the hash that it was compared with, nor on
 * whether there is one.
 *
 * Guarantee: the time is one that the slowest hash of the instance keeps too, here and now. It passes in a timer, so
 * waiting costs attackers a connection and the service no processor time.
 */
import { checkMs } from '../../passwords/hasher.ts';

/** An answer comes after a multiple of this many LOGIN_DELAY_MS, so small differences do not show. */
const STEP_DELAYS = 5;
/** For everything except the check: statements, and the start of a thread. */
const REST_MS = 150;

export interface CheckLoad {
  /** What the check of the slowest hash in use takes longer than that for an unknown user, as estimated. */
  slowestMs: number;
  /** How many times longer than estimated checks take in this process now. */
  slowness: number;
}

/**
 * Milliseconds from the beginning of an attempt to its answer. A check that takes longer than expected is answered
 * after a multiple of the time.
 * @param spentMs since the beginning, without the time that the check waited for a thread: the load of the service
 *   decides about that, and adding it here would let a longer check be seen by how often it takes one more step
 */
export function answerAfterMs(spentMs: number, { slowestMs, slowness }: CheckLoad, delayMs: number): number {
  const stepMs = STEP_DELAYS * delayMs;
  const wholeMs = stepMs * Math.ceil((REST_MS + slowness * (checkMs() + slowestMs)) / stepMs);
  return wholeMs * Math.max(1, Math.ceil(spentMs / wholeMs));
}
