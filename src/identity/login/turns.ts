/**
 * One password check of a user at a time, and few that wait: many attempts at once occupy one thread, not all of them.
 *
 * The key of an unknown user is the typed name, so that a response does not reveal whether the user exists.
 * On crash: the counts start at 0. Each process has its own.
 */
import { ApiError } from '../../errors.ts';
import type { Login, LoginUser } from './store.ts';

/** More than the applications of one person make while one is checked. */
const MOST_WAITING = 31;
const RETRY_AFTER_S = 1;

interface Line {
  waiting: number;
  last: Promise<unknown>;
}

const lines = new Map<string, Line>();

/**
 * The result of `check`, which runs when the earlier checks of the user have ended.
 * @param gone aborted when the caller has gone; `check` then does not run
 * @throws ApiError 429 SESSION-ATTEMPTS; what `check` throws; the reason of `gone`
 */
export async function inTurn<T>(
  typed: LoginUser,
  login: Login | undefined,
  check: () => Promise<T>,
  gone?: AbortSignal,
): Promise<T> {
  const key = login ? `id ${login.id}` : JSON.stringify(typed).toLowerCase();
  const line = lines.get(key) ?? { waiting: 0, last: Promise.resolve() };
  if (line.waiting > MOST_WAITING) throw tooMany();
  lines.set(key, line);
  line.waiting++;
  const result = line.last.then(() => {
    gone?.throwIfAborted();
    return check();
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
