/**
 * What the policies of an organization mean for a password: which new ones are good, and when one has expired.
 * Computation only. Imported passwords are exempt from the rules for new ones.
 */
import { isCommonPassword } from '../passwords/common-passwords.ts';
import { nameKey, textProblem } from '../platform/fields.ts';
import type { AgePolicy, LengthPolicy } from './policies.ts';

/** The login names and addresses of the user who gets the password, and the domain of the organization. */
export type PasswordNames = readonly string[];

/** A rule that a new password breaks. */
export type BrokenRule =
  | { rule: 'tooShort'; min: number }
  | { rule: 'tooLong'; max: number }
  /** @param why as the end of a sentence */
  | { rule: 'unusable'; why: string }
  | { rule: 'common' }
  | { rule: 'isName' };

/** Every rule that the new password breaks; empty when it is good. */
export function brokenRules(password: string, policy: LengthPolicy, names: PasswordNames): BrokenRule[] {
  const { minLength: min, maxLength: max } = policy;
  const key = nameKey(password);
  const length = [...password].length;
  const why = length > max ? undefined : textProblem(password, max);
  return [
    ...(length < min ? [{ rule: 'tooShort', min } as const] : []),
    ...(length > max ? [{ rule: 'tooLong', max } as const] : []),
    ...(why === undefined ? [] : [{ rule: 'unusable', why } as const]),
    ...(isCommonPassword(password) ? [{ rule: 'common' } as const] : []),
    ...(names.some((name) => nameKey(name) === key) ? [{ rule: 'isName' } as const] : []),
  ];
}

/** The rule in English, as the end of a sentence that begins with the name of the password. */
export function inWords(broken: BrokenRule): string {
  switch (broken.rule) {
    case 'tooShort':
      return `must have at least ${broken.min === 1 ? '1 character' : `${broken.min} characters`}`;
    case 'tooLong':
      return `must have at most ${broken.max} characters`;
    case 'unusable':
      return broken.why;
    case 'common':
      return 'must not be one of the most common passwords';
    case 'isName':
      return 'must not be a name or an address of the user, or the domain of the organization';
  }
}

export interface PasswordAge {
  isExpired: boolean;
  /** Whole days left; set only within the warning period. */
  expiresInDays: number | undefined;
}

/** Whether a password has expired. @param ageDays since the password was set, with fractions */
export function passwordAge({ maxAgeDays, expireWarnDays }: AgePolicy, ageDays: number): PasswordAge {
  const left = maxAgeDays - ageDays;
  if (maxAgeDays === 0) return { isExpired: false, expiresInDays: undefined };
  if (left < 0) return { isExpired: true, expiresInDays: undefined };
  return { isExpired: false, expiresInDays: left <= expireWarnDays ? Math.floor(left) : undefined };
}
