/** The rules for new passwords, for programs and for people. Computation only. Imported passwords are exempt. */
import { nameKey, textProblem } from '../fields/fields.ts';
import { isCommonPassword } from './common-passwords.ts';

/** In Unicode code points. */
export interface LengthPolicy {
  minLength: number;
  maxLength: number;
}

/** The range of each length that a policy may set; at least 64 characters must always be allowed (NIST SP 800-63B). */
export const PASSWORD_LENGTH = { shortest: { from: 1, to: 64 }, longest: { from: 64, to: 200 } } as const;

/** The login names and the address of the user who gets the password. */
export type PasswordNames = readonly string[];

/** Every rule that the password breaks, as the end of a sentence that begins with its name; empty when it is good. */
export function passwordProblems(password: string, policy: LengthPolicy, names: PasswordNames): string[] {
  const key = nameKey(password);
  const text = textProblem(password, policy.maxLength);
  return [
    [...password].length < policy.minLength && `must have at least ${characters(policy.minLength)}`,
    text,
    isCommonPassword(password) && 'must not be one of the most common passwords',
    names.some((name) => nameKey(name) === key) && 'must not be a login name or the email address of the user',
  ].filter((problem) => typeof problem === 'string');
}

/** The rules in the words of the pages, which show them before the user types. */
export function passwordRules({ minLength, maxLength }: LengthPolicy): string {
  return `${minLength} to ${maxLength} characters. Not a common password such as “password1”, and not your login name or email address.`;
}

function characters(count: number): string {
  return count === 1 ? '1 character' : `${count} characters`;
}
