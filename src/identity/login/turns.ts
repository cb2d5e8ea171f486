/**
 * Work with one key runs one after the other, and few wait: many attempts at once take one place, not all of them.
 *
 * On crash: the counts start at 0. Each process has its own.
 */
import { ApiError } from '../../errors.ts';

/** More than the applications of one person make while one is checked; a hundred attempts at once have a place. */
const MOST_WAITING = 127;
const RETRY_AFTER_S = 1;

interface Line {
  waiting: number;
  last: Promise<unknown>;
}

const lines = new Map<string, Line>();

/**
 * The result of `work`, which runs when all earlier work with the same key has ended.
 * @param gone aborted when the caller has gone; `work` then does not run
 * @throws ApiError 429 SESSION-ATTEMPTS; what `work` throws; the reason of `gone`
 */
export async function inTurn<T>(key: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
  const line = lines.get(key) ?? { waiting: 0, last: Promise.resolve() };
  if (line.waiting > MOST_WAITING) throw tooMany();
  lines.set(key, line);
  line.waiting++;
  const result = line.last.then(() => {
    gone?.throwIfAborted();
    return work();
  });
  line.last = result.catch(() => {}); // its caller gets the error
  try {
    return await result;
  } finally {
    line.waiting--;
    if (line.waiting === 0) lines.delete(key);
  }
}

function tooMany(): ApiError {
  const message = 'Too many attempts to log in as this user are being checked. Try again later.';
  return new ApiError('RESOURCE_EXHAUSTED', 'SESSION-ATTEMPTS', message, { retryAfterS: RETRY_AFTER_S });
}
