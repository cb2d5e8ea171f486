/**
 * Reads the JSON body and the query of one request, and converts each to the value of a schema.
 *
 * Guarantee: the result is JSON from valid UTF-8 of bounded size, with a bounded number of values and bounded nesting;
 * everything else is an API error (errors.ts). All three are checked in the bytes, before JSON.parse, which blocks the
 * process for all.
 * Nothing is read before a handler asks for it. So authentication and roles are checked first, and a route can read its
 * stream itself. Only imports may be compressed (src/imports/entries/).
 */
import type { Request, RequestHandler, Response } from 'express';
import express from 'express';
import type { z } from 'zod';
import { ApiError, type FieldViolation, invalidArgument } from '../errors.ts';
import { idProblem } from '../fields.ts';
import { holdsMoreValues, textNestsDeeper } from '../text/json-stream.ts';
import { camelCase, fieldPath, LONGEST_KEY } from '../text/names.ts';
import { wrongMediaType } from './errors.ts';
import { openSlots } from './slots.ts';

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
/** Time limit for sending a body: 16 MiB at half a megabit per second. */
const MAX_MS = 300_000;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

const MOST_CHARACTERS = 2 ** 20;
/** Characters of a path that are shown. */
const LONGEST_PATH = 1000;

/** As a query, a form must fit into the head of a request, which Node.js limits to 16 KiB. */
const MAX_FORM_BYTES = 12 * 1024;
const FORM = 'application/x-www-form-urlencoded';
/** What programs encode forms as; anything else cannot be in a query. */
const QUERY = /^[\x21\x22\x24-\x7e]*$/;

/** A large body takes up to three times its size in memory while it is read. */
const largeBodies = openSlots({ perCaller: 2, perOrg: 4, total: 8, id: 'REQUEST-BODIES', what: 'large bodies' });
const collectors = new Map<number, RequestHandler>();
const utf8 = new TextDecoder('utf-8', { fatal: true });

interface Violations {
  /** By field and description, as two checks may find the same error. */
  found: Map<string, FieldViolation>;
  characters: number;
}

/**
 * The parsed body; an absent one is read as `{}`.
 * @throws ApiError 400 (not JSON, not UTF-8, too many values, nested too deep), 413 (too large), 415 (not
 *   `application/json`, or compressed), 429 (too many large bodies at the same time)
 */
export async function readJson(req: Request, res: Response, limits: BodyLimits = SMALL_BODY): Promise<unknown> {
  // Without a Content-Length, a body may be of any size.
  const isSmall = limits.bytes <= SMALL_BODY.bytes || Number(req.get('content-length') ?? Infinity) <= SMALL_BODY.bytes;
  const release = isSmall ? undefined : largeBodies.take(res.locals.caller ?? { userId: String(req.ip) });
  try {
    return await readParsed(req, res, limits);
  } finally {
    release?.();
  }
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
export function parseBody<S extends z.ZodType>(schema: S, body: unknown, id: string): z.output<S> {
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
export function parseQuery<T>(schema: z.ZodType<T>, query: unknown, id: string): T {
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
export function badFields(id: string, violations: FieldViolation[]): ApiError {
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

/**
 * Answers `POST` on addresses that browsers are sent to (OpenID Connect Core 1.0 section 3.1.2.1, RP-Initiated Logout
 * 1.0 section 2): the form takes the place of the query, and `answer` gets a `GET`.
 *
 * Browsers send our cookies with a navigation from another site only if it is a `GET` (`SameSite=Lax`). So such a form
 * is redirected to the same address with its fields in the query: else, a user who is signed in had to sign in again.
 * @param baseUrl the public address
 */
export function formAsQuery(answer: RequestHandler, baseUrl: string): RequestHandler[] {
  return [
    express.text({ type: FORM, limit: MAX_FORM_BYTES }),
    (req, res, next) => pass(answer, baseUrl, req, res, next),
  ];
}

async function pass(
  answer: RequestHandler,
  baseUrl: string,
  ...[req, res, next]: Parameters<RequestHandler>
): Promise<void> {
  const target = `${req.path}?${queryOf(req)}`;
  if (req.get('sec-fetch-site') === 'cross-site') return res.redirect(303, baseUrl + target);
  const { method, url } = req;
  Object.assign(req, { method: 'GET', url: target });
  try {
    await answer(req, res, next);
  } finally {
    Object.assign(req, { method, url }); // for the log and the metrics
  }
}

/** @throws ApiError 400 */
function queryOf(req: Request): string {
  const form: unknown = req.body;
  if (typeof form === 'string' && QUERY.test(form)) return form;
  throw new ApiError('INVALID_ARGUMENT', 'REQUEST-MEDIA-TYPE', `The body must be ${FORM}.`);
}

async function readParsed(req: Request, res: Response, limits: BodyLimits): Promise<unknown> {
  const bytes = await readBytes(req, res, limits.bytes);
  if (bytes.length === 0) return {};
  if (!JSON_TYPE.test(req.get('content-type') ?? '')) throw wrongMediaType();
  if (holdsMoreValues(bytes, limits.values)) {
    throw invalidArgument('REQUEST-VALUES', `The body must not hold more than ${limits.values} values.`);
  }
  if (textNestsDeeper(bytes, MOST_NESTED)) {
    throw invalidArgument('REQUEST-DEPTH', `The body must not nest more than ${MOST_NESTED} arrays and objects.`);
  }
  return parse(decode(bytes));
}

async function readBytes(req: Request, res: Response, limit: number): Promise<Buffer> {
  const tooSlow = setTimeout(() => req.destroy(), MAX_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      req.once('error', reject); // what collects waits for the rest of the body before it tells an error
      collector(limit)(req, res, (error?: unknown) => (error ? reject(error) : resolve()));
    });
  } finally {
    clearTimeout(tooSlow);
  }
  return Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
}

function collector(limit: number): RequestHandler {
  const known = collectors.get(limit) ?? express.raw({ type: () => true, limit, inflate: false });
  collectors.set(limit, known);
  return known;
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new ApiError('INVALID_ARGUMENT', 'REQUEST-JSON', 'The body is not valid JSON: it is not UTF-8.', { cause });
  }
}

function parse(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('INVALID_ARGUMENT', 'REQUEST-JSON', 'The body is not valid JSON.', { cause });
  }
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
