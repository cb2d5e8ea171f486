/**
 * Reads the JSON body of one request.
 *
 * Guarantee: the result is JSON from valid UTF-8 of bounded size, with a bounded number of values and bounded nesting;
 * everything else is an API error (../errors.ts). All three are checked in the bytes, before JSON.parse, which blocks the
 * process for all.
 * Nothing is read before a handler asks for it. So authentication and roles are checked first, and a route can read its
 * stream itself. Only imports may be compressed (imports/parse/body.ts).
 */
import express, { type Request, type RequestHandler, type Response } from 'express';
import { ApiError, invalidArgument } from '../errors.ts';
import { holdsMoreValues, textNestsDeeper } from '../streaming/nesting.ts';
import { wrongMediaType } from './body-error.ts';
import { openSlots } from './slots.ts';

export interface BodyLimits {
  bytes: number;
  /** Values in the body, also nested ones. */
  values: number;
}

/** For most operations: fields of at most 2,000 characters, and lists of at most 100 of them. */
export const SMALL_BODY: BodyLimits = { bytes: 256 * 2 ** 10, values: 2_000 };
/** For lists of 10,000 elements and metadata values of 500,000 characters; only where callers need a role. */
export const LARGE_BODY: BodyLimits = { bytes: 16 * 2 ** 20, values: 80_000 };
/** Arrays and objects inside each other, as in imports. What walks a body calls itself for each of them. */
export const MOST_NESTED = 64;
/** Time limit for sending a body: 16 MiB at half a megabit per second. */
const MAX_MS = 300_000;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

/** A large body takes up to three times its size in memory while it is read. */
const largeBodies = openSlots({ perCaller: 2, perOrg: 4, total: 8, id: 'REQUEST-BODIES', what: 'large bodies' });
const collectors = new Map<number, RequestHandler>();
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The parsed body; an absent one is read as `{}`.
 * @throws ApiError 400 (not JSON, not UTF-8, too many values, nested too deep), 413 (too large), 415 (not `application/json`, or
 *   compressed), 429 (too many large bodies at the same time)
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
