/** Parses when a token expires: after a duration, or on a date. */
import { EXIT, Failure } from './terminal/failure.ts';

const HOUR_MS = 3_600_000;
const UNIT_MS: Readonly<Record<string, number>> = { h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS };

/** `90d`, `12h`, `2w`, `2027-01-31` (the end of that day, UTC) or a full timestamp. @throws Failure */
export function expiryDate(text: string, now: number = Date.now()): string {
  const [, amount, unit = ''] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T23:59:59Z` : text;
  const time = amount ? now + Number(amount) * (UNIT_MS[unit] ?? 0) : Date.parse(day);
  const isTime = amount || /^\d{4}-\d\d-\d\dT/.test(day);
  if (isTime && time > now) return new Date(time).toISOString();
  throw new Failure(`"${text}" is not a future date or time.`, {
    exitCode: EXIT.usage,
    advice: 'Use a form such as 90d, 12h, 2w, 2027-01-31 or 2027-01-31T12:00:00Z.',
  });
}
