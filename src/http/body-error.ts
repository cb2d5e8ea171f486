/**
 * Errors of Express's body parsers, by their `type`. Their texts are not used, as they may quote the body.
 */
import { ApiError } from '../errors.ts';

/** The public form of an error of Express's body parsers (http-errors, invalid gzip too); undefined for any other. */
export function bodyError(error: unknown): ApiError | undefined {
  const { type, status, expose, limit } = error as Record<'type' | 'status' | 'expose' | 'limit', unknown>;
  if (expose !== true || typeof status !== 'number' || status >= 500) return undefined;
  if (type === 'entity.too.large') return tooLarge(limit, error);
  if (type === 'encoding.unsupported') return wrongEncoding(error);
  if (type === 'charset.unsupported') return wrongMediaType(error);
  if (type === 'entity.parse.failed') {
    return new ApiError('INVALID_ARGUMENT', 'REQUEST-JSON', 'The body is not valid JSON.', { cause: error });
  }
  const message = 'The body could not be read: it is incomplete, or its compression is invalid.';
  return new ApiError('INVALID_ARGUMENT', 'REQUEST-BODY', message, { cause: error });
}

/** 413 */
function tooLarge(limit: unknown, cause: unknown): ApiError {
  const message = typeof limit === 'number' ? `The body must be at most ${limit} bytes.` : 'The body is too large.';
  return new ApiError('RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE', message, { http: 413, cause });
}

/** 415 */
function wrongEncoding(cause: unknown): ApiError {
  const message = 'Content-Encoding must be absent: only the body of a bulk import may be compressed.';
  return new ApiError('INVALID_ARGUMENT', 'REQUEST-ENCODING', message, { http: 415, cause });
}

/** 415 */
export function wrongMediaType(cause?: unknown): ApiError {
  const message = 'Content-Type must be application/json in UTF-8.';
  return new ApiError('INVALID_ARGUMENT', 'REQUEST-MEDIA-TYPE', message, { http: 415, cause });
}
