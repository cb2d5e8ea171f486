/**
 * How long to wait before the next request, as the headers of an answer say: `Retry-After` (RFC 9110 section 10.2.3),
 * or the time at which a limit resets.
 */

/** Seconds since 1970, or seconds from now where the number is small. */
const RESETS = ['x-rate-limit-reset', 'x-ratelimit-reset', 'ratelimit-reset'];
const REMAINING = ['x-rate-limit-remaining', 'x-ratelimit-remaining', 'ratelimit-remaining'];
const LARGEST_DELAY_S = 1_000_000_000;

/** Milliseconds that the answer asks to wait; undefined when it does not say. */
export function askedWaitMs(headers: Headers, now: number): number | undefined {
  const after = headers.get('retry-after')?.trim();
  if (after && /^\d{1,9}$/.test(after)) return Number(after) * 1000;
  const date = after === undefined ? Number.NaN : Date.parse(after);
  if (!Number.isNaN(date)) return Math.max(0, date - now);
  return resetMs(headers, now);
}

/** Milliseconds until the limit resets, if the answer used up the last request; otherwise undefined. */
export function usedUpMs(headers: Headers, now: number): number | undefined {
  return REMAINING.some((name) => headers.get(name)?.trim() === '0') ? resetMs(headers, now) : undefined;
}

function resetMs(headers: Headers, now: number): number | undefined {
  const text = RESETS.map((name) => headers.get(name)?.trim()).find((value) => value && /^\d{1,12}$/.test(value));
  if (!text) return undefined;
  const value = Number(text);
  return Math.max(0, value < LARGEST_DELAY_S ? value * 1000 : value * 1000 - now);
}
