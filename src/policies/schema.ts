/** Request bodies of the policies. */
import { z } from 'zod';
import { PASSWORD_LENGTH } from './password-rules.ts';

const MAX_DAYS = 36_500;

/** A whole number, or a string of digits: published clients send these 64-bit types as strings. */
function wholeNumber(min: number, max: number) {
  const rule = `must be a whole number from ${min} to ${max}`;
  const digits = z.string().regex(/^\d{1,5}$/);
  return z
    .union([z.int().min(min).max(max), digits], {
      error: (issue) => (issue.input === undefined ? 'is required' : rule),
    })
    .transform(Number)
    .pipe(z.int().min(min, rule).max(max, rule));
}

const days = () => wholeNumber(0, MAX_DAYS);

/** Days that are out of range on their own are reported only once. */
function fits(p: { maxAgeDays: number; expireWarnDays: number }): boolean {
  return p.maxAgeDays <= 0 || p.expireWarnDays > MAX_DAYS || p.expireWarnDays <= p.maxAgeDays;
}

export const agePolicyBody = z
  .object({ maxAgeDays: days(), expireWarnDays: days().default(0) })
  .refine(fits, { path: ['expireWarnDays'], message: 'must not be more than maxAgeDays' });

/** Rules about kinds of characters make passwords weaker (NIST SP 800-63B), so they are refused, not ignored. */
const noCharacterRule = z
  .literal(false, 'must be false: rules about kinds of characters are not supported')
  .optional()
  .meta({ description: 'Accepted for published clients. There are no rules about kinds of characters.' });

const { shortest, longest } = PASSWORD_LENGTH;

export const complexityPolicyBody = z
  .object({
    minLength: wholeNumber(shortest.from, shortest.to).meta({ description: 'Unicode code points.' }),
    maxLength: wholeNumber(longest.from, longest.to).default(longest.to).meta({ description: 'Unicode code points.' }),
    hasUppercase: noCharacterRule,
    hasLowercase: noCharacterRule,
    hasNumber: noCharacterRule,
    hasSymbol: noCharacterRule,
  })
  .transform(({ minLength, maxLength }) => ({ minLength, maxLength }));

export interface LoginPolicy {
  /** Users must have a second factor: without one they set it up before they are signed in. */
  forceMfa: boolean;
}

export const loginPolicyBody: z.ZodType<LoginPolicy> = z.object({
  forceMfa: z.boolean('must be true or false'),
});
