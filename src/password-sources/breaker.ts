/**
 * Circuit breakers: a source that does not answer is left alone for a while, so that sign-ins do not wait for it and it
 * can recover.
 *
 * On crash: each process has its own, which start closed.
 */
import { type SourceAnswer, unavailable } from './answer.ts';

/** This many checks in a row of a source that is down open it. */
const FAILURES = 5;
const OPEN_MS = 15_000;

export interface Breaker {
  /** The answer of `ask`, which is not called while the breaker is open. After a while, one call tries again. */
  run(ask: () => Promise<SourceAnswer>): Promise<SourceAnswer>;
}

/** @param now milliseconds since any moment */
export function openBreaker(now: () => number = () => performance.now()): Breaker {
  let failures = 0;
  let openUntil = 0;
  return {
    async run(ask) {
      const isOpen = failures >= FAILURES;
      if (isOpen && now() < openUntil) return unavailable('left alone, as it did not answer lately');
      // The next calls wait for what this one finds out.
      if (isOpen) openUntil = now() + OPEN_MS;
      const answer = await ask();
      if (answer.result !== 'unavailable' || !answer.isDown) failures = 0;
      else if (++failures >= FAILURES) openUntil = now() + OPEN_MS;
      return answer;
    },
  };
}
