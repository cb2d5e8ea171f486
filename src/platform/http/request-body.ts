/**
 * Reads the JSON body of one request (parse.ts converts it to the value of a schema).
 *
 * Guarantee: the result is JSON from valid UTF-8 of bounded size, with a bounded number of values and bounded nesting;
 * everything else is an API error (errors.ts). All three are checked in the bytes, before JSON.parse, which blocks the
 * process for all.
 * Nothing is read before a handler asks for it. So authentication and roles are checked first, and a route can read its
 * stream itself. Only imports may be compressed (src/imports/entries/).
 */
import type { Request, RequestHandler, Response } from 'express';
import express from 'express';
import { ApiError, invalidArgument } from '../errors.ts';
import { holdsMoreValues, textNestsDeeper } from '../text/json-stream.ts';
import { wrongMediaType } from './errors.ts';
import { type BodyLimits, MOST_NESTED, SMALL_BODY } from './parse.ts';
import { openSlots } from './slots.ts';

/** Time limit for sending a body: 16 MiB at half a megabit per second. */
const MAX_MS = 300_000;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

/** As a query, a form must fit into the head of a request, which Node.js limits to 16 KiB. */
const MAX_FORM_BYTES = 12 * 1024;
const FORM = 'application/x-www-form-urlencoded';
/** What programs encode forms as; anything else cannot be in a query. */
const QUERY = /^[\x21\x22\x24-\x7e]*$/;

/** A large body takes up to three times its size in memory while it is read. */
const largeBodies = openSlots({ perCaller: 2, perOrg: 4, total: 8, id: 'REQUEST-BODIES', what: 'large bodies' });
const collectors = new Map<number, RequestHandler>();
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The parsed body; an absent one is read as `{}`.
 * @throws ApiError 400 (not JSON, not UTF-8, too many values, nested too deep), 413 (too large), 415 (not
 *   `application/json`, or compressed), 429 (too many large bodies at the same time)
 */
export async function readJson(req: Request, res: Response, limits: BodyLimits = SMALL_BODY): Promise<unknown> {
  if (res.locals.readBody !== undefined) return res.locals.readBody;
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
