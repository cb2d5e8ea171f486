/** Counts the calls of one kind, with their times since they were last read, and how often they failed for which reason. */
import { withTimeout } from '../../src/platform/timeouts.ts';
import { percentile } from '../bench.ts';

const PATIENCE_MS = 60_000;

export class Meter {
  readonly name: string;
  done = 0;
  failed = 0;
  readonly failures = new Map<string, number>();
  private times: number[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /**
   * Runs and times one call. Never throws; undefined when the call failed, which does not count during the end.
   * @param patienceMs after this time it has failed
   */
  async run<T>(ending: AbortSignal, work: () => Promise<T>, patienceMs = PATIENCE_MS): Promise<T | undefined> {
    const start = performance.now();
    try {
      const result = await withTimeout(work(), patienceMs, `A call (${this.name})`);
      this.times.push(performance.now() - start);
      this.done++;
      return result;
    } catch (error) {
      if (!ending.aborted) this.fail(reasonOf(error));
      return undefined;
    }
  }

  fail(why: string): void {
    this.failed++;
    this.failures.set(why, (this.failures.get(why) ?? 0) + 1);
  }

  /** Milliseconds of the calls since the last reading; NaN without any. */
  takeTimes(): { p50: number; p99: number } {
    const times = this.times;
    this.times = [];
    if (times.length === 0) return { p50: Number.NaN, p99: Number.NaN };
    return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  }
}

/** A refused or broken connection, as the cause tells it: `fetch failed` alone says nothing. */
export function reasonOf(error: unknown): string {
  const { message, code, cause } = error as NodeJS.ErrnoException & { cause?: unknown };
  return [message, code, ...(cause instanceof Error ? [reasonOf(cause)] : [])].filter(Boolean).join(' ');
}
