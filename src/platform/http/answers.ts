/** Answers of many results: the pages of a search, and text of any size. */
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

const CHUNK_CHARS = 65_536;
/** What is ready is sent after this time, as the next piece may take long. */
const CHUNK_MS = 1000;

export interface ResultPage {
  offset: number;
  limit: number;
  asc: boolean;
}

export interface TokenPage extends ResultPage {
  /** Where the page begins, from the answer with the page before it. An offset counts from there. */
  pageToken?: string;
}

const page = z.object({
  offset: count(2 ** 53 - 1).optional(),
  limit: count(MAX_LIMIT).optional(),
  asc: z.boolean().optional(),
});

/**
 * The schema of `query {offset, limit, asc}`: numbers, or strings of digits, as existing clients send both. Default:
 * the first 100, also for a limit of 0. Ascending unless `asc` is false.
 */
export function paging() {
  return page.optional().transform(pageOf);
}

/** The schema of `query` with a `pageToken`, for a search whose answer has `nextPageToken`. */
export function tokenPaging(token: z.ZodType<string>) {
  return page
    .extend({ pageToken: token.optional() })
    .optional()
    .transform((q): TokenPage => ({ ...pageOf(q), ...(q?.pageToken ? { pageToken: q.pageToken } : {}) }));
}

function pageOf(q: z.output<typeof page> | undefined): ResultPage {
  return { offset: q?.offset ?? 0, limit: q?.limit || DEFAULT_LIMIT, asc: q?.asc ?? true };
}

function count(max: number) {
  return z
    .custom<string | number>()
    .transform((given, ctx) => {
      const n = typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : given;
      if (typeof n === 'number' && Number.isSafeInteger(n) && n >= 0 && n <= max) return n;
      ctx.addIssue({ code: 'custom', message: `must be a whole number from 0 to ${max}` });
      return z.NEVER;
    })
    .meta({ type: ['integer', 'string'], minimum: 0, maximum: max, pattern: '^\\d{1,15}$' });
}

/** The response of a search. */
export function searchResult<T>(
  total: number | string,
  result: T[],
): { details: { totalResult: string }; result: T[] } {
  return { details: { totalResult: String(total) }, result };
}

/**
 * Sends text of any size to a client, as fast as the client takes it. Returns when all is sent; a client that
 * disconnects ends it, which is not an error.
 */
export async function sendText(to: Writable, pieces: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(inChunks(pieces), { objectMode: false }), to);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

/** Joins small pieces into chunks, as every write to the HTTP response has a cost. */
async function* inChunks(pieces: AsyncIterable<string>): AsyncIterable<string> {
  let chunk = '';
  let since = Date.now();
  for await (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK_CHARS && Date.now() - since < CHUNK_MS) continue;
    yield chunk;
    chunk = '';
    since = Date.now();
  }
  if (chunk !== '') yield chunk;
}
