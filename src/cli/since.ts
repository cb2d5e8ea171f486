/** Parses a time in the past: a duration ago, a day or a timestamp. */
import { EXIT, Failure } from './terminal/failure.ts';

const MINUTE_MS = 60_000;
const UNIT_MS: Readonly<Record<string, number>> = {
  m: MINUTE_MS,
  h: 60 * MINUTE_MS,
  d: 24 * 60 * MINUTE_MS,
  w: 7 * 24 * 60 * MINUTE_MS,
};

/** `30m`, `24h`, `7d`, `2w` before `now`; `2026-01-31` (the start of that day, UTC) or a full timestamp. @throws Failure */
export function pastDate(text: string, now: number = Date.now()): string {
  const [, amount, unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const isTime = amount || /^\d{4}-\d\d-\d\d(T|$)/.test(text);
  const time = amount ? now - Number(amount) * (UNIT_MS[unit] ?? 0) : Date.parse(text);
  if (isTime && Math.abs(time) < 8e15) return new Date(time).toISOString();
  throw new Failure(`"${text}" is not a date or time.`, {
    exitCode: EXIT.usage,
    advice: 'Use a form such as 30m, 24h, 7d, 2w, 2026-01-31 or 2026-01-31T12:00:00Z.',
  });
}
