/**
 * What an error of PostgreSQL means for who must go on (PostgreSQL, Appendix A, "PostgreSQL Error Codes").
 * A table and not a test of messages, so that what is tried again can be read here.
 */

/** Classes (first two characters) of which a retry may succeed: connection, resources, shutdown, rollback, lock. */
const RETRYABLE_CLASSES = new Set(['08', '53', '57', '40', '55', '25', '58']);
/** Classes that blame the data itself: the same rows would fail again. */
const DATA_CLASSES = new Set(['22', '23', '21', '54']);

/** What Node.js says of a socket; of a file, ENOENT says nothing about the server. */
const SOCKET = new Set([
  'EAI_AGAIN',
  'EBUSY',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETDOWN',
  'ENETUNREACH',
  'ENFILE',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
/** TLS, from Node.js and from OpenSSL's check of a certificate (`CERT_HAS_EXPIRED`). */
const TLS = /^ERR_(?:SSL|TLS)_|CERT|SIGNATURE/;
/** What node-postgres says without a code: its pool ran out, or the server did not take the connection, or hung up. */
const WORDS =
  /^(?:timeout exceeded when trying to connect|timeout expired|Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|The server does not support SSL)/;

/** `data`: the same rows would fail again. `other`: neither the server nor the rows are known to be at fault; maybe we are. */
export type FaultKind = 'retry' | 'data' | 'other';

/** Sorts an error thrown by `pg`, or by the code around it. */
export function faultKind(error: unknown): FaultKind {
  const code = sqlState(error);
  if (code === undefined) return isConnectionFault(error) ? 'retry' : 'other';
  const group = code.slice(0, 2);
  if (RETRYABLE_CLASSES.has(group)) return 'retry';
  return DATA_CLASSES.has(group) ? 'data' : 'other';
}

/** Whether the server could not be reached, or was lost. */
export function isConnectionFault(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isConnectionFault);
  const { code, syscall, message } = (error ?? {}) as { code?: unknown; syscall?: unknown; message?: unknown };
  if (typeof code === 'string' && SOCKET.has(code)) return code !== 'ENOENT' || syscall === 'connect';
  return (typeof code === 'string' && TLS.test(code)) || (typeof message === 'string' && WORDS.test(message));
}

/** The five characters of SQLSTATE, if the error came from the server. Each holds a digit, unlike `EPIPE` of a socket. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
