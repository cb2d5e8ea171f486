/** What can go wrong while Express reads a body, by the `type` its parser gives. Its texts may quote the body: not used. */
import { ApiError } from '../errors.ts';

/** The public form of an error of Express's body parsers (http-errors, a broken gzip too); undefined for any other. */
export function bodyError(error: unknown): ApiError | undefined {
  const { type, status, expose } = error as { type?: unknown; status?: unknown; expose?: unknown };
  if (expose !== true || typeof status !== 'number' || status >= 500) return undefined;
  if (type === 'entity.too.large') {
    return new ApiError('RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE', 'The body is too large.', {
      http: 413,
      cause: error,
    });
  }
  if (type === 'encoding.unsupported' || type === 'charset.unsupported') return wrongMediaType(error);
  if (type === 'entity.parse.failed') {
    return new ApiError('INVALID_ARGUMENT', 'REQUEST-JSON', 'The body is not valid JSON.', { cause: error });
  }
  return new ApiError('INVALID_ARGUMENT', 'REQUEST-BODY', 'The body could not be read.', { cause: error });
}

/** 415 */
export function wrongMediaType(cause?: unknown): ApiError {
  const message = 'The body must be application/json in UTF-8.';
  return new ApiError('INVALID_ARGUMENT', 'REQUEST-MEDIA-TYPE', message, { http: 415, cause });
}
