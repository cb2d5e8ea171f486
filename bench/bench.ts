/** What a bench is given and what it answers. */
import type { Scope } from './scope.ts';

export interface Context {
  /** Ends what the bench starts, whatever happens. */
  scope: Scope;
  /** `--users`; absent: the bench's own number. */
  users?: number;
  /** Worker processes of the service where a bench has any. */
  workers: number;
  /** Tells the person who waits what is being done. */
  say(line: string): void;
}

export interface Result {
  name: string;
  value: number;
  unit: string;
  /** The same work done by the bare means, in the same run on the same servers. */
  ceiling: number;
  /** `value / ceiling`. */
  ratio: number;
  /** What the table says beside the figures, line by line. */
  notes: string[];
  /** Further keys of the JSON line. */
  extras: Record<string, unknown>;
}

/** Thrown by a bench when the machine lacks what it needs; the message is a sentence that says what. */
export class Skipped extends Error {}

/** Events per second. */
export function perSecond(count: number, ms: number): number {
  return Math.round((count / ms) * 1000);
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** The value below which the share `p` of `values` lies (nearest rank). */
export function percentile(values: number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * p) - 1)] as number;
}
