/**
 * Reads the JSON body of one request.
 *
 * Guarantee: the result is JSON from valid UTF-8 of bounded size; everything else is an API error (../errors.ts).
 * Nothing is read before a handler asks for it. So authentication and roles are checked first, and a route can read its
 * stream itself.
 */
import express, { type Request, type RequestHandler, type Response } from 'express';
import { ApiError } from '../errors.ts';
import { wrongMediaType } from './body-error.ts';

/** After decompression. A user with several metadata values of the largest size must fit. */
export const MAX_JSON_BYTES = 16 * 2 ** 20;
/** Time limit for sending a body: `MAX_JSON_BYTES` at half a megabit per second. */
const MAX_MS = 300_000;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

const collectUsual = collector(MAX_JSON_BYTES);
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The parsed body; an absent one is read as `{}`.
 * @param maxBytes after decompression; lower for calls that need no authentication
 * @throws ApiError 400 (not JSON, not UTF-8), 413 (too large), 415 (not `application/json`)
 */
export async function readJson(req: Request, res: Response, maxBytes: number = MAX_JSON_BYTES): Promise<unknown> {
  const bytes = await readBytes(req, res, maxBytes);
  if (bytes.length === 0) return {};
  if (!JSON_TYPE.test(req.get('content-type') ?? '')) throw wrongMediaType();
  return parse(decode(bytes));
}

async function readBytes(req: Request, res: Response, limit: number): Promise<Buffer> {
  const collect = limit === MAX_JSON_BYTES ? collectUsual : collector(limit);
  const tooSlow = setTimeout(() => req.destroy(), MAX_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      collect(req, res, (error?: unknown) => (error ? reject(error) : resolve()));
    });
  } finally {
    clearTimeout(tooSlow);
  }
  return Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
}

function collector(limit: number): RequestHandler {
  return express.raw({ type: () => true, limit });
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
