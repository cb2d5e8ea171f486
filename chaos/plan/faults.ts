/** The faults of a round: which, when, on which process, and for how long. */
import type { Random } from '../random.ts';

export interface PlannedFault {
  atMs: number;
  fault: string;
  /** Selects the process or the connection that it strikes; each fault reduces it to what it has. */
  slot: number;
  forMs: number;
}

const FEWEST = 2;
const MOST = 5;
/** Imports begin in the first seconds of a round and last a few more. */
const LATEST_MS = 4500;

/** @param times so many times as many faults, over so many times as long */
export function planFaults(
  random: Random,
  faults: Record<string, { least: number; most: number }>,
  times = 1,
): PlannedFault[] {
  const names = Object.keys(faults);
  if (names.length === 0) return [];
  const planned = Array.from({ length: random.int(FEWEST * times, MOST * times) }, () => {
    const fault = random.pick(names);
    const { least, most } = faults[fault] as { least: number; most: number };
    return { atMs: random.int(100, LATEST_MS * times), fault, slot: random.int(0, 11), forMs: random.int(least, most) };
  });
  return planned.sort((a, b) => a.atMs - b.atMs);
}
