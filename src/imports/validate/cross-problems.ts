/**
 * What is wrong with an entry beyond its single fields. Looks at the entry as it was sent, so that these problems are
 * named beside those of the schema and not only once the others are mended.
 */
import type { FieldViolation } from '../../errors.ts';
import { textProblem } from '../../fields/fields.ts';
import { hashProblem, longestHash } from '../../passwords/registry.ts';
import { MAX_ELEMENTS } from './schema.ts';

/** @param entry anything JSON can hold, with its fields renamed */
export function crossProblems(entry: unknown): FieldViolation[] {
  const user = inside(entry, 'user');
  const { password, hashedPassword, metadata, idps } = user;
  const violations: FieldViolation[] = [];
  if (password !== undefined && hashedPassword !== undefined) {
    violations.push({ field: 'user.password', description: 'must not be given beside hashedPassword' });
  }
  const problem = importedHashProblem(inside(user, 'hashedPassword').value);
  if (problem) violations.push({ field: 'user.hashedPassword.value', description: problem });
  if (metadata) violations.push(...givenTwice(metadata, 'user.metadata', ['key']));
  if (idps) violations.push(...givenTwice(idps, 'user.idps', ['configId', 'externalUserId']));
  return violations;
}

/** Of a text that the schema has nothing against. */
function importedHashProblem(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || textProblem(value, longestHash(value))) return undefined;
  return hashProblem(value);
}

/** The elements that have all of `fields` in common with one before them; none in a list that is refused as a whole. */
function givenTwice(list: unknown, path: string, fields: string[]): FieldViolation[] {
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

/** The object that a field holds; empty when there is none. */
function inside(value: unknown, field: PropertyKey): Record<string, unknown> {
  const found = (value as Record<PropertyKey, unknown> | null | undefined)?.[field];
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
}
