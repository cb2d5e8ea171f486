/**
 * Validates what a schema of single fields cannot: fields that exclude each other, duplicates in lists, password
 * hashes. Reads the entry as it was sent, so that these problems are reported together with those of the schema.
 */
import type { FieldViolation } from '../../errors.ts';
import { textProblem } from '../../fields/fields.ts';
import { hashProblem, longestHash } from '../../passwords/registry.ts';
import { MAX_ELEMENTS } from './schema.ts';

/**
 * @param entry anything JSON can hold, with its fields renamed
 * @param withoutEmail users without an email address are allowed
 */
export function crossProblems(entry: unknown, withoutEmail: boolean): FieldViolation[] {
  const user = inside(entry, 'user');
  const { password, hashedPassword, metadata, idps } = user;
  const violations: FieldViolation[] = [];
  if (withoutEmail && !inside(user, 'email').email && user.userName === undefined) {
    violations.push({ field: 'user.userName', description: 'is required for a user without an email address' });
  }
  if (password !== undefined && hashedPassword !== undefined) {
    violations.push({ field: 'user.password', description: 'must not be given together with hashedPassword' });
  }
  const problem = importedHashProblem(inside(user, 'hashedPassword').value);
  if (problem) violations.push({ field: 'user.hashedPassword.value', description: problem });
  violations.push(
    ...contradiction(user, 'email', 'isEmailVerified'),
    ...contradiction(user, 'phone', 'isPhoneVerified'),
  );
  if (metadata) violations.push(...duplicatesIn(metadata, 'user.metadata', ['key']));
  if (idps) violations.push(...duplicatesIn(idps, 'user.idps', ['configId', 'externalUserId']));
  return violations;
}

/** The field and its alias `isVerified`, which remains only if both are given. */
function contradiction(user: Record<string, unknown>, part: string, field: string): FieldViolation[] {
  const { isVerified, [field]: known } = inside(user, part);
  if (isVerified === undefined || isVerified === null || isVerified === known) return [];
  return [{ field: `user.${part}.isVerified`, description: `must not differ from ${field}` }];
}

/** Only for a text that the schema accepts. */
function importedHashProblem(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || textProblem(value, longestHash(value))) return undefined;
  return hashProblem(value);
}

/** Elements that equal an earlier one in all of `fields`. Empty for a list that the schema refuses as a whole. */
function duplicatesIn(list: unknown, path: string, fields: string[]): FieldViolation[] {
  if (!Array.isArray(list) || list.length > MAX_ELEMENTS) return [];
  const seen = new Set<string>();
  const violations: FieldViolation[] = [];
  for (const i of list.keys()) {
    const values = fields.map((field) => inside(list, i)[field]);
    if (values.some((value) => typeof value !== 'string')) continue;
    const key = JSON.stringify(values);
    if (seen.has(key)) violations.push({ field: `${path}[${i}].${fields.at(-1)}`, description: 'is given twice' });
    seen.add(key);
  }
  return violations;
}

/** The object that a field holds; an empty one if there is none. */
function inside(value: unknown, field: PropertyKey): Record<string, unknown> {
  const found = (value as Record<PropertyKey, unknown> | null | undefined)?.[field];
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
}
