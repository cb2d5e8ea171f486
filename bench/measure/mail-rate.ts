/** Computes the rate of mails from their arrival times. */

const SECOND = 1000;

/** Mails per second from the first to the last one. */
export function rateOf(arrivals: number[]): number {
  const ms = (arrivals.at(-1) as number) - (arrivals[0] as number);
  return ms > 0 ? ((arrivals.length - 1) / ms) * SECOND : 0;
}

/** The most mails that arrived within any one second. */
export function mostInASecond(arrivals: number[]): number {
  let [most, from] = [0, 0];
  for (const [to, at] of arrivals.entries()) {
    while (at - (arrivals[from] as number) >= SECOND) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
