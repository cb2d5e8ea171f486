/**
 * The bytes of an import's body, decoded, and what its headers and query say about it.
 */

import { createGunzip } from 'node:zlib';
import type { Request } from 'express';
import { ApiError, invalidArgument } from '../errors.ts';
import type { BodyParser } from './intake.ts';
import { DataOrgsParser } from './parse.ts';

/** Known query parameters with the only value that is built so far; null: not built at all. */
const QUERY: Record<string, string | null> = {
  dryRun: 'false',
  onExisting: 'fail',
  mails: 'auto',
  webhook: null,
};

export interface ImportQuery {
  strict: boolean;
}

/** @throws ApiError 400 for an unknown parameter or value, 501 for one that is known but not built */
export function readQuery(query: Record<string, unknown>): ImportQuery {
  for (const [name, value] of Object.entries(query)) {
    if (name === 'strict') {
      if (value !== 'true' && value !== 'false') throw badQuery(name, 'must be true or false');
      continue;
    }
    if (!Object.hasOwn(QUERY, name)) throw badQuery(name, 'is not a known query parameter');
    if (value !== QUERY[name]) {
      throw new ApiError('UNIMPLEMENTED', 'IMPORT-QUERY', `${name}=${String(value).slice(0, 50)} is not built yet.`);
    }
  }
  return { strict: query.strict === 'true' };
}

function badQuery(name: string, problem: string): ApiError {
  return invalidArgument('IMPORT-QUERY', `${name.slice(0, 100)} ${problem}`, [
    { field: name.slice(0, 100), description: problem },
  ]);
}

/** @throws ApiError 415 for another media type than JSON */
export function parserFor(req: Request): BodyParser {
  if (req.is('application/json')) return new DataOrgsParser();
  throw new ApiError('INVALID_ARGUMENT', 'HTTP-MEDIA-TYPE', 'Content-Type must be application/json.', { http: 415 });
}

/**
 * The decoded body, chunk by chunk. The request stays open when the reader stops early, so that the answer can be sent.
 * @throws ApiError 415 for another encoding than gzip
 */
export function readBody(req: Request): AsyncIterable<Buffer> {
  const encoding = (req.get('content-encoding') ?? 'identity').toLowerCase();
  if (encoding === 'identity') return req.iterator({ destroyOnReturn: false });
  if (encoding !== 'gzip') {
    throw new ApiError('INVALID_ARGUMENT', 'HTTP-ENCODING', 'Content-Encoding must be gzip or absent.', { http: 415 });
  }
  const gunzip = createGunzip();
  req.on('error', (error) => gunzip.destroy(error));
  req.pipe(gunzip);
  return named(gunzip.iterator({ destroyOnReturn: false }));
}

async function* named(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  try {
    yield* chunks;
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith('Z_')) throw error;
    throw invalidArgument('IMPORT-GZIP', 'The body is not valid gzip.');
  }
}
