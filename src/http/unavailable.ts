/** Tells "the database is away or overloaded, try again" from "this program is wrong". */

/**
 * SQLSTATE classes 08 (connection), 40 (a deadlock), 53 (out of resources) and 57P (shutting down, starting up); and what
 * took too long: a lock (55P03), a statement (57014), a transaction that stood idle (25P03).
 */
const SQLSTATE = /^(?:08...|40...|53...|57P..|55P03|57014|25P03)$/;
const SOCKET = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EAI_AGAIN',
]);
/** What node-postgres says without a code: its pool ran out, or the server did not take the connection, or hung up. */
const WORDS =
  /^(?:timeout exceeded when trying to connect|timeout expired|Connection terminated|Client has encountered a connection error)/;

/** Whether the cause of `error` is a database that cannot be reached or cannot serve right now. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isUnavailable);
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (typeof code === 'string' && SQLSTATE.test(code)) return true;
  // ENOENT alone may be any missing file; from `connect` it is the server's socket.
  if (typeof code === 'string' && SOCKET.has(code)) return code !== 'ENOENT' || syscall === 'connect';
  return WORDS.test(error.message);
}
