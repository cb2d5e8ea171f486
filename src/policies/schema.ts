/** Request body of the password-age policy. */
import { z } from 'zod';

const MAX_DAYS = 36_500;
const RULE = `must be a whole number from 0 to ${MAX_DAYS}`;

/** Numbers, and strings of digits, as published clients send this 64-bit type as a string. */
function days() {
  const digits = z.string().regex(/^\d{1,5}$/);
  return z
    .union([z.int().min(0).max(MAX_DAYS), digits], {
      error: (issue) => (issue.input === undefined ? 'is required' : RULE),
    })
    .transform(Number)
    .pipe(z.int().min(0, RULE).max(MAX_DAYS, RULE));
}

/** Days that are out of range on their own are reported only once. */
function fits(p: { maxAgeDays: number; expireWarnDays: number }): boolean {
  return p.maxAgeDays <= 0 || p.expireWarnDays > MAX_DAYS || p.expireWarnDays <= p.maxAgeDays;
}

export const agePolicyBody = z
  .object({ maxAgeDays: days(), expireWarnDays: days().default(0) })
  .refine(fits, { path: ['expireWarnDays'], message: 'must not be more than maxAgeDays' });
