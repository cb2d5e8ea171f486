/** How fast mails came, from when each of them was there. */

const SECOND = 1000;

/** Mails per second from the first to the last one. */
export function rateOf(arrivals: number[]): number {
  return rateAfter(arrivals, 1);
}

/**
 * The same without the first `burst` of them: a limit of so many a second may let a second's worth go at once, and
 * whatever goes after that is what the limit lets through.
 */
export function rateAfter(arrivals: number[], burst: number): number {
  const ms = (arrivals.at(-1) as number) - (arrivals[0] as number);
  return ms > 0 ? (Math.max(0, arrivals.length - burst) / ms) * SECOND : 0;
}

/** The most mails that came within any one second. */
export function mostInASecond(arrivals: number[]): number {
  let [most, from] = [0, 0];
  for (const [to, at] of arrivals.entries()) {
    while (at - (arrivals[from] as number) >= SECOND) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
