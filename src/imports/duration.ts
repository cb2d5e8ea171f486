/** Durations in the format of Go's time.ParseDuration: `1h30m0s`, `10m`, `300ms`, `1.5h`. */

const UNIT_MS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const WHOLE = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

/** Milliseconds, possibly with a fraction; undefined when `text` is not a Go duration. */
export function parseDuration(text: string): number | undefined {
  if (/^[+-]?0$/.test(text)) return 0;
  if (text.length > 100 || !WHOLE.test(text)) return undefined;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(PART)) ms += Number(amount) * (UNIT_MS[unit as string] as number);
  return text.startsWith('-') ? -ms : ms;
}

/**
 * What is wrong with the timeout of an import, if anything. It must be more than 0 and at most `max`.
 * @param max the longest allowed, as a Go duration
 */
export function timeoutProblem(value: unknown, max: string): string | undefined {
  if (value === undefined) return 'is required';
  if (typeof value !== 'string') return 'must be a string with a duration such as "30m0s"';
  const ms = parseDuration(value);
  if (ms === undefined) return 'must be a duration such as "30m0s", "1.5h" or "300ms"';
  // Go counts nanoseconds.
  if (ms < 1e-6) return 'must be more than 0';
  if (ms > (parseDuration(max) ?? 0)) return `must be at most ${max}`;
  return undefined;
}
