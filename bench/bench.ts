/** The input and the result of a bench, and the arithmetic of its figures. */
import type { Scope } from './scope.ts';

export interface Context {
  /** Ends everything that the bench starts, whatever happens. */
  scope: Scope;
  /** `--users`; absent: the bench's own number. */
  users?: number | undefined;
  /** `--size`, in megabytes; absent: the bench's own size. */
  size?: number | undefined;
  /** Number of the service's worker processes, for benches that use any. */
  workers: number;
  /** Prints a progress line. */
  say(line: string): void;
}

export interface Result {
  name: string;
  value: number;
  unit: string;
  /** The result of doing the same work without Muster, in the same run on the same servers. */
  ceiling: number;
  /** `value / ceiling`. */
  ratio: number;
  /** The table's text next to the figures, line by line. */
  notes: string[];
  /** Further keys of the JSON line. */
  extras: Record<string, unknown>;
}

/** Thrown by a bench when the machine lacks something that it needs; the message says what. */
export class Skipped extends Error {}

/** Events per second. */
export function perSecond(count: number, ms: number): number {
  return Math.round((count / ms) * 1000);
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** The percentile `p` of `values` (nearest rank). */
export function percentile(values: number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * p) - 1)] as number;
}

/** `1 worker`, `2 workers`. */
export function counted(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** How long one call takes, in milliseconds. */
export async function timed(call: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await call();
  return performance.now() - start;
}
