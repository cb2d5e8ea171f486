/**
 * Converts parsed JSON and queries to the values of schemas, and says how large a body may be.
 *
 * Guarantee: errors name every invalid field, and are bounded whatever a caller sends. It loads no web framework, as
 * workers use it too.
 */
import type { Request } from 'express';
import type { z } from 'zod';
import { type ApiError, type FieldViolation, type IdOf, invalidArgument } from '../errors.ts';
import { idProblem } from '../fields.ts';
import { camelCase, fieldPath, LONGEST_KEY } from '../text/names.ts';

export interface BodyLimits {
  bytes: number;
  /** Values in the body, also nested ones. */
  values: number;
}

/** Limits of most operations: fields of at most 2,000 characters, and lists of at most 100 of them. */
export const SMALL_BODY: BodyLimits = { bytes: 256 * 2 ** 10, values: 2_000 };
/** Limits for lists of 10,000 elements and metadata values of 500,000 characters; only where callers need a role. */
export const LARGE_BODY: BodyLimits = { bytes: 16 * 2 ** 20, values: 80_000 };
/** Arrays and objects inside each other, as in imports. What walks a body calls itself for each of them. */
export const MOST_NESTED = 64;
const MOST_CHARACTERS = 2 ** 20;
/** Characters of a path that are shown. */
const LONGEST_PATH = 1000;

interface Violations {
  /** By field and description, as two checks may find the same error. */
  found: Map<string, FieldViolation>;
  characters: number;
}

/**
 * Converts parsed JSON to the value of a schema.
 *
 * Guarantee: the error names every invalid field by its camelCase path, until it has MOST_CHARACTERS, so that the
 * answer is bounded whatever the body holds. Keys can also be in snake_case. A null member is treated as absent. A
 * string with NUL or a lone surrogate is refused, also in an unknown field, and so is a key of more than LONGEST_KEY
 * characters.
 * @param id stable id of the error, such as `ORG-SETUP`
 * @throws ApiError 400 with a violation for every invalid field
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown, id: IdOf<'INVALID_ARGUMENT'>): z.output<S> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidArgument(id, 'The body must be a JSON object.');
  }
  const violations: Violations = { found: new Map(), characters: 0 };
  const value = normalize(body, '', 0, violations);
  const parsed = schema.safeParse(value, { error: (issue) => defaultMessage(issue.code, issue.input, issue.expected) });
  if (parsed.success && violations.found.size === 0) return parsed.data;
  for (const issue of parsed.error?.issues ?? []) add(violations, fieldPath(issue.path), issue.message);
  throw badFields(id, [...violations.found.values()]);
}

/**
 * Converts a query to the value of a schema.
 * @param id stable id of the error
 * @throws ApiError 400 naming every invalid parameter, and every unknown one if the schema is strict
 */
export function parseQuery<T>(schema: z.ZodType<T>, query: unknown, id: IdOf<'INVALID_ARGUMENT'>): T {
  const parsed = schema.safeParse(query, { error: ({ code }) => QUERY_MESSAGES[code] });
  if (parsed.success) return parsed.data;
  const violations = parsed.error.issues.flatMap((i) =>
    i.code === 'unrecognized_keys'
      ? i.keys.map((field) => ({ field, description: 'is not supported here' }))
      : [{ field: i.path.join('.'), description: i.message }],
  );
  const sentences = violations.map(({ field, description }) => `The query parameter ${field} ${description}.`);
  throw invalidArgument(id, sentences.join(' '), violations);
}

/** For schemas without their own message. A parameter that is repeated is an array, not a string. */
const QUERY_MESSAGES: Partial<Record<string, string>> = { invalid_type: 'must be given once, as a string' };

/** 400 that names every invalid field; the message names the first ten. */
export function badFields(id: IdOf<'INVALID_ARGUMENT'>, violations: FieldViolation[]): ApiError {
  const names = violations.slice(0, 10).map((v) => `${v.field || 'The body'} ${v.description}`);
  const more = violations.length > 10 ? `; and ${violations.length - 10} more` : '';
  return invalidArgument(id, `${`${names.join('; ')}${more}`.replace(/\.$/, '')}.`, violations);
}

/**
 * An id in the path, percent-decoded; the rule for ids in bodies applies.
 * @throws ApiError 400 when it is not a valid id (`.`, control characters, over 200 characters)
 */
export function pathId(req: Request, name: string): string {
  const value = req.params[name];
  const id = Array.isArray(value) ? value.join('/') : (value ?? '');
  const problem = idProblem(id);
  if (problem) throw badFields('REQUEST-ID', [{ field: name, description: problem }]);
  return id;
}

function normalize(value: unknown, path: string, depth: number, violations: Violations): unknown {
  if (typeof value === 'string') {
    const problem = stringProblem(value);
    if (problem) add(violations, path, problem);
    return value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MOST_NESTED) {
    add(violations, path, `must not be nested over ${MOST_NESTED} levels`);
    return undefined;
  }
  if (Array.isArray(value)) return value.map((v, i) => normalize(v, `${path}[${i}]`, depth + 1, violations));
  return normalizeObject(value, path, depth, violations);
}

function normalizeObject(value: object, path: string, depth: number, violations: Violations): object {
  const members = new Map<string, unknown>();
  for (const [key, member] of Object.entries(value)) {
    if (member === null) continue;
    if (key.length > LONGEST_KEY) {
      const name = key.slice(0, LONGEST_KEY).toWellFormed();
      add(violations, pathTo(path, name), `must have a name of at most ${LONGEST_KEY} characters`);
      continue;
    }
    const name = camelCase(key);
    // If both spellings are present, camelCase wins, whatever their order.
    if (name !== key && Object.hasOwn(value, name)) continue;
    members.set(name, normalize(member, pathTo(path, name), depth + 1, violations));
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
