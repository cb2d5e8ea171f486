/** Tells handlers that the caller has gone, so that nothing more is computed for it. */
import type { Response } from 'express';
import { ApiError } from '../errors.ts';

/** Aborted when the connection is closed before the response is complete. */
export function goneSignal(res: Response): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) gone.abort(new ApiError('ABORTED', 'REQUEST-ABORTED', 'The connection was closed.'));
  });
  return gone.signal;
}
