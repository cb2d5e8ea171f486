/** The rules for new passwords, for programs and for people. Computation only. Imported passwords are exempt. */
import { nameKey, textProblem } from '../fields/fields.ts';
import { isCommonPassword } from './common-passwords.ts';

/** In Unicode code points. */
export interface LengthPolicy {
  minLength: number;
  maxLength: number;
}

/** The range of each length that a policy may set (NIST SP 800-63B: none under 8; at least 64 must always be allowed). */
export const PASSWORD_LENGTH = { shortest: { from: 8, to: 64 }, longest: { from: 64, to: 200 } } as const;

/** The login names and addresses of the user who gets the password, and the domain of the organization. */
export type PasswordNames = readonly string[];

/** Every rule that the password breaks, as the end of a sentence that begins with its name; empty when it is good. */
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

/** The rules in the words of the pages, which show them before the user types. */
export function passwordRules({ minLength, maxLength }: LengthPolicy): string {
  return `${minLength} to ${maxLength} characters. Not a common password such as “password1”, and not your login name, your email address or the domain of your organization.`;
}

function characters(count: number): string {
  return count === 1 ? '1 character' : `${count} characters`;
}
