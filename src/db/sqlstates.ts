/**
 * What an error of PostgreSQL means for who must go on (PostgreSQL, Appendix A, "PostgreSQL Error Codes").
 * A table and not a test of messages, so that what is tried again can be read here.
 */

/** Classes (first two characters) of which a retry may succeed: connection, resources, shutdown, rollback, lock. */
const RETRYABLE_CLASSES = new Set(['08', '53', '57', '40', '55', '25', '58']);
/** Classes that blame the data itself: the same rows would fail again. */
const DATA_CLASSES = new Set(['22', '23', '21', '54']);

export type FaultKind = 'retry' | 'data' | 'other';

/** Sorts an error thrown by `pg`; one without SQLSTATE is a broken connection and is tried again. */
export function faultKind(error: unknown): FaultKind {
  const code = sqlState(error);
  if (code === undefined) return 'retry';
  const group = code.slice(0, 2);
  if (RETRYABLE_CLASSES.has(group)) return 'retry';
  return DATA_CLASSES.has(group) ? 'data' : 'other';
}

/** The five characters of SQLSTATE, if the error came from the server. Each holds a digit, unlike `EPIPE` of a socket. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
