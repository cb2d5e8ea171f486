/**
 * What the policies of an organization mean for a password: which new ones are good, and when one has expired.
 * Computation only. Imported passwords are exempt from the rules for new ones.
 */
import { isCommonPassword } from '../passwords/common-passwords.ts';
import { nameKey, textProblem } from '../platform/fields.ts';
import type { AgePolicy, LengthPolicy } from './policies.ts';

/** The login names and addresses of the user who gets the password, and the domain of the organization. */
export type PasswordNames = readonly string[];

/**
 * Every rule that the new password breaks, as the end of a sentence that begins with its name; empty when it is good.
 */
export function passwordProblems(password: string, policy: LengthPolicy, names: PasswordNames): string[] {
  const key = nameKey(password);
  const text = textProblem(password, policy.maxLength);
  return [
    [...password].length < policy.minLength && `must have at least ${characters(policy.minLength)}`,
    text,
    isCommonPassword(password) && 'must not be one of the most common passwords',
    names.some((name) => nameKey(name) === key) &&
      'must not be a name or an address of the user, or the domain of the organization',
  ].filter((problem) => typeof problem === 'string');
}

/** The rules for new passwords in the words of the pages, which show them before the user types. */
export function passwordRules({ minLength, maxLength }: LengthPolicy): string {
  return `${minLength} to ${maxLength} characters. Not a common password such as “password1”, and not your login name, your email address or the domain of your organization.`;
}

function characters(count: number): string {
  return count === 1 ? '1 character' : `${count} characters`;
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
