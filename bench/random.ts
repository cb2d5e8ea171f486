/** Random numbers that a seed determines (mulberry32), so that a simulation can be repeated. */

export interface Random {
  /** From 0 to 1. */
  next(): number;
  /** With mean 0 and standard deviation 1 (Box–Muller). */
  normal(): number;
  /** Time until the next event of a Poisson process. */
  exponential(mean: number): number;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    exponential: (mean) => -mean * Math.log(1 - next()),
  };
}
