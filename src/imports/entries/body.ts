/**
 * The body of an import in its HTTP request: its format by Content-Type, its bytes, unzipped if necessary, what is left
 * of it after a refusal, and what it is if it is no JSON at all.
 */
import { finished } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { DataOrgsParser } from './data-orgs.ts';
import { NdjsonParser } from './ndjson.ts';
import type { BodyParser } from './parser.ts';

export type BodyFormat = 'json' | 'ndjson';

const OTHER_CHARSET = /;\s*charset\s*=\s*"?(?!utf-?8"?\s*(?:;|$))/i;

/** As many bytes as `foreignFormat` needs. */
export const HEAD_BYTES = 64;

/** By the first bytes as hexadecimal digits. */
const FORMATS: [begins: RegExp, message: string][] = [
  [/^1f8b/, 'The body is compressed with gzip: compress it only once, and send the header Content-Encoding: gzip.'],
  [/^504b0304/, 'The body is a ZIP archive. It must be JSON, or JSON compressed with gzip.'],
  [/^(?:fffe|feff|[57]b00|00[57]b)/, 'The body is encoded in UTF-16. It must be UTF-8.'],
];

const MARKUP = 'The body is HTML or XML, probably a page of another server. It must be JSON.';

/** After a refusal the rest of the body is read and discarded for this long, so that the client sees the answer. */
const DRAIN_MS = 10_000;

/** @throws ApiError 415 for a media type other than JSON and NDJSON in UTF-8 */
export function formatOf(req: Request): BodyFormat {
  const isUtf8 = !OTHER_CHARSET.test(req.get('content-type') ?? '');
  if (isUtf8 && req.is('application/json')) return 'json';
  if (isUtf8 && req.is('application/x-ndjson')) return 'ndjson';
  const message = 'Content-Type must be application/json or application/x-ndjson, in UTF-8.';
  throw new ApiError('INVALID_ARGUMENT', 'REQUEST-MEDIA-TYPE', message, { http: 415 });
}

/** The query without what belongs to the format: NDJSON takes `timeout` from the query, `dataOrgs` from the body. */
export function commonQuery(req: Request, format: BodyFormat): Record<string, unknown> {
  const { timeout, ...rest } = req.query;
  return format === 'ndjson' ? rest : req.query;
}

export function parserFor(req: Request, format: BodyFormat): BodyParser {
  return format === 'json' ? new DataOrgsParser() : new NdjsonParser(req.query.timeout);
}

/**
 * The decoded body, chunk by chunk. The request stays open when the reader stops early, so that the answer can be sent.
 * @throws ApiError 415 for an encoding other than gzip
 */
export function readBody(req: Request): AsyncIterable<Buffer> {
  if (isGzip(req)) return inflated(req);
  if (/^(?:identity)?$/i.test(req.get('content-encoding') ?? '')) return req.iterator({ destroyOnReturn: false });
  throw new ApiError('INVALID_ARGUMENT', 'REQUEST-ENCODING', 'Content-Encoding must be gzip or absent.', { http: 415 });
}

/** Inflates only as far as the reader reads. */
async function* inflated(req: Request): AsyncIterable<Buffer> {
  const gunzip = createGunzip();
  finished(req, { writable: false }, (error) => error && gunzip.destroy(error));
  try {
    yield* req.pipe(gunzip);
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith('Z_')) throw error;
    throw invalidArgument('REQUEST-BODY', 'The body is not valid gzip.');
  }
}

/** Passes chunks on. @throws ApiError 413 as soon as they exceed `max` bytes in all */
export async function* bounded(chunks: AsyncIterable<Buffer>, max: number): AsyncIterable<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > max) throw tooLarge(max);
    yield chunk;
  }
}

/**
 * Refuses a body whose Content-Length is too large, before any of it is read.
 * @throws ApiError 413
 */
export function refuseTooLarge(req: Request, max: number): void {
  if (!isGzip(req) && Number(req.get('content-length')) > max) throw tooLarge(max);
}

function tooLarge(max: number): ApiError {
  return new ApiError('RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE', `The body must be at most ${max} bytes.`, {
    http: 413,
  });
}

/** RFC 9110 section 8.4.1.3: `x-gzip` means the same as `gzip`. */
function isGzip(req: Request): boolean {
  return /^(?:x-)?gzip$/i.test(req.get('content-encoding') ?? '');
}

/**
 * Prepares the answer to a request whose body is still being sent.
 *
 * Closed at once, a connection on which the client still sends would be reset, and the answer lost. So only its sending
 * half is closed; what arrives is thrown away (RFC 9112, section 9.6).
 */
export function dropRest(req: Request, res: Response): void {
  if (req.readableEnded) return;
  if (!res.headersSent) res.set('connection', 'close');
  req.unpipe();
  req.resume();
  const { socket } = req;
  // Node.js calls it when the answer is sent.
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), DRAIN_MS).unref();
    socket.on('close', () => clearTimeout(timer));
  };
}

/**
 * What is wrong with a body that begins with these bytes, as sentences, to say so instead of naming a syntax error;
 * undefined if its format is not known.
 */
export function foreignFormat(head: Buffer): string | undefined {
  const known = FORMATS.find(([begins]) => begins.test(head.toString('hex')))?.[1];
  return known ?? (/^\ufeff?\s*</.test(head.toString('utf8')) ? MARKUP : undefined);
}
