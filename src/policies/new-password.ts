/**
 * Checks a new password against the policy of its user's organization. Every way to set a password calls it, except
 * imports and hashes that were made elsewhere.
 */
import type { Db } from '../db/pool.ts';
import { invalidArgument } from '../errors.ts';
import { COMPLEXITY } from './kinds.ts';
import { passwordProblems, passwordRules } from './password-rules.ts';
import { type PolicyOwner, policyOf } from './store.ts';

/** The user who gets the password. */
export interface PasswordUser {
  /** null: an organization that does not exist yet. */
  orgId: PolicyOwner;
  userName: string;
  /** Primary domain of the organization. */
  domain: string;
  email: string | null;
  /** Further names and addresses that the password must not be. */
  names?: readonly string[];
}

/** The id of the error for a password that breaks a rule. */
export const PASSWORD_POLICY = 'PASSWORD-POLICY';

/** The rules that the password breaks; see `passwordProblems`. */
export async function newPasswordProblems(db: Db, user: PasswordUser, password: string): Promise<string[]> {
  const { orgId, userName, domain, email, names: more = [] } = user;
  const mailbox = email === null ? [] : [email, email.slice(0, email.lastIndexOf('@'))];
  const names = [userName, `${userName}@${domain}`, domain, ...mailbox, ...more];
  return passwordProblems(password, await policyOf(db, COMPLEXITY, orgId), names);
}

/**
 * @param field path of the password in the request
 * @throws ApiError 400 PASSWORD-POLICY with a violation for every rule that the password breaks
 */
export async function requireGoodPassword(db: Db, user: PasswordUser, password: string, field: string): Promise<void> {
  const problems = await newPasswordProblems(db, user, password);
  if (problems.length === 0) return;
  const violations = problems.map((description) => ({ field, description }));
  throw invalidArgument(PASSWORD_POLICY, passwordSentence(problems), violations);
}

/** The rules for new passwords in the organization, for people; null: those of the instance. */
export async function passwordRulesOf(db: Db, orgId: PolicyOwner): Promise<string> {
  return passwordRules(await policyOf(db, COMPLEXITY, orgId));
}

/** One sentence that names all problems. */
export function passwordSentence(problems: readonly string[]): string {
  return `The password ${problems.join(', and it ')}.`;
}
