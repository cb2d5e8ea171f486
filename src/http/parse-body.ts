/**
 * Converts parsed JSON to the value of a schema.
 *
 * Guarantee: the error names every invalid field by its camelCase path, until it has MOST_CHARACTERS, so that the answer
 * is bounded whatever the body holds. Keys can also be in snake_case. A null member is treated as absent. A string with
 * NUL or a lone surrogate is refused, also in an unknown field, and so is a key of more than LONGEST_KEY characters.
 */

import type { z } from 'zod';
import { type ApiError, type FieldViolation, invalidArgument } from '../errors.ts';
import { camelCase, fieldPath, LONGEST_KEY } from '../fields/names.ts';

const MAX_DEPTH = 64;
const MOST_CHARACTERS = 2 ** 20;
/** Characters of a path that are shown. */
const LONGEST_PATH = 1000;

interface Violations {
  /** By field and description, as two checks may find the same error. */
  found: Map<string, FieldViolation>;
  characters: number;
}

interface Normalizing {
  violations: Violations;
}

/**
 * @param id stable id of the error, such as `ORG-SETUP`
 * @throws ApiError 400 with a violation for every invalid field
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown, id: string): z.output<S> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidArgument(id, 'The body must be a JSON object.');
  }
  const violations: Violations = { found: new Map(), characters: 0 };
  const value = normalize(body, '', 0, { violations });
  const parsed = schema.safeParse(value, { error: (issue) => defaultMessage(issue.code, issue.input, issue.expected) });
  if (parsed.success && violations.found.size === 0) return parsed.data;
  for (const issue of parsed.error?.issues ?? []) add(violations, fieldPath(issue.path), issue.message);
  throw badFields(id, [...violations.found.values()]);
}

/** 400 that names every invalid field; the message names the first ten. */
export function badFields(id: string, violations: FieldViolation[]): ApiError {
  const names = violations.slice(0, 10).map((v) => `${v.field || 'The body'} ${v.description}`);
  const more = violations.length > 10 ? `; and ${violations.length - 10} more` : '';
  return invalidArgument(id, `${`${names.join('; ')}${more}`.replace(/\.$/, '')}.`, violations);
}

function normalize(value: unknown, path: string, depth: number, state: Normalizing): unknown {
  if (typeof value === 'string') {
    const problem = stringProblem(value);
    if (problem) add(state.violations, path, problem);
    return value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) {
    add(state.violations, path, `must not be nested over ${MAX_DEPTH} levels`);
    return undefined;
  }
  if (Array.isArray(value)) return value.map((v, i) => normalize(v, `${path}[${i}]`, depth + 1, state));
  return normalizeObject(value, path, depth, state);
}

function normalizeObject(value: object, path: string, depth: number, state: Normalizing): object {
  const members = new Map<string, unknown>();
  for (const [key, member] of Object.entries(value)) {
    if (member === null) continue;
    if (key.length > LONGEST_KEY) {
      const name = key.slice(0, LONGEST_KEY).toWellFormed();
      add(state.violations, pathTo(path, name), `must have a name of at most ${LONGEST_KEY} characters`);
      continue;
    }
    const name = camelCase(key);
    // If both spellings are present, camelCase wins, whatever their order.
    if (name !== key && Object.hasOwn(value, name)) continue;
    members.set(name, normalize(member, pathTo(path, name), depth + 1, state));
  }
  // fromEntries defines own properties, so a key `__proto__` stays an ordinary key.
  return Object.fromEntries(members);
}

function pathTo(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function stringProblem(value: string): string | undefined {
  if (value.includes('\0')) return 'must not contain NUL';
  if (!value.isWellFormed()) return 'must not contain a lone surrogate';
  return undefined;
}

function add(violations: Violations, path: string, description: string): void {
  if (violations.characters >= MOST_CHARACTERS) return;
  const field = path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH).toWellFormed()}…` : path;
  violations.found.set(`${field}\0${description}`, { field, description });
  violations.characters += field.length + description.length;
}

/** For schemas without their own message. */
function defaultMessage(code: string | undefined, input: unknown, expected: unknown): string | undefined {
  if (code !== 'invalid_type') return undefined;
  if (input === undefined) return 'is required';
  return `must be ${expected === 'array' || expected === 'object' ? 'an' : 'a'} ${String(expected)}`;
}
