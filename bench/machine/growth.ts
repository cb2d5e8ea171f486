/**
 * How the speed of an import changes from its first tenth to its last, computed from samples of its progress.
 *
 * Between two samples, progress is taken to be even. On average this places the first user too early and the last too
 * late by half the sampling interval, which slows the first and the last tenth alike.
 */
const TENTHS = 10;

export interface Sample {
  ms: number;
  /** Users that had ended by then; never fewer than in the previous sample. */
  ended: number;
}

/**
 * The time at which `n` users had ended, in the samples' milliseconds.
 * @param samples the first one before any user ended
 * @throws Error when no sample reaches `n`
 */
export function timeAt(samples: Sample[], n: number): number {
  const i = samples.findIndex((sample) => sample.ended >= n);
  const [before, after] = [samples[i - 1], samples[i]];
  if (!before || !after) throw new Error(`There are no samples around ${n} users.`);
  return before.ms + ((n - before.ended) / (after.ended - before.ended)) * (after.ms - before.ms);
}

/**
 * Users per second in each tenth of `total` users, in the order in which they ended. The first tenth begins when its
 * first user has ended, so that it includes neither the upload nor the latency of the first jobs.
 * @param total more than ten
 */
export function tenthRates(samples: Sample[], total: number): number[] {
  const bounds = Array.from({ length: TENTHS + 1 }, (_, i) => (i === 0 ? 1 : (total * i) / TENTHS));
  const times = bounds.map((n) => timeAt(samples, n));
  const span = (list: number[], i: number) => (list[i + 1] as number) - (list[i] as number);
  return Array.from({ length: TENTHS }, (_, i) => (span(bounds, i) / span(times, i)) * 1000);
}

/** The longest time without progress, in milliseconds, from the first sample on. */
export function longestPause(samples: Sample[]): number {
  let longest = 0;
  let last = samples[0];
  for (const sample of samples) {
    longest = Math.max(longest, sample.ms - (last?.ms ?? 0));
    if (sample.ended > (last?.ended ?? 0)) last = sample;
  }
  return longest;
}
