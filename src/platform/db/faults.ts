/**
 * How to react to an error of PostgreSQL (PostgreSQL, Appendix A, "PostgreSQL Error Codes"), and the retry while it is
 * unavailable: a restart takes seconds, a failover up to a minute.
 *
 * The decision is a table of codes rather than a match on messages, so that you can read here what is retried.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * States that mean the store, not the statement: it is away, starts, stops or has no resources left (08, 53, 57, 58), it
 * is a replica or read-only (25006, 55000), it gave up a transaction that may be repeated (40, 25P03, 25P04, 55P03,
 * 55006), it does not let us in or withholds a right (28, 3D000, 42501), its settings or files are broken (F0, XX001,
 * XX002).
 */
const STORE = /^(?:(?:08|28|40|53|57|58|F0)...|25006|25P0[34]|3D000|42501|55000|55006|55P03|XX00[12])$/;
/** Classes (first two characters) for which a retry may succeed: connection, resources, shutdown, rollback, lock. */
const RETRYABLE_CLASSES = new Set(['08', '53', '57', '40', '55', '25', '58']);
/** Classes that mean an error in the data: the same rows would fail again. */
const DATA_CLASSES = new Set(['22', '23', '21', '54']);

/** Node.js error codes of a socket. ENOENT counts only for a socket: for a file it says nothing about the server. */
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
/** TLS error codes of Node.js, and of OpenSSL's certificate verification (`CERT_HAS_EXPIRED`). */
const TLS = /^ERR_(?:SSL|TLS)_|CERT|SIGNATURE/;
/** Messages of node-postgres without a code: its pool is exhausted, or the server rejected or closed the connection. */
const WORDS =
  /^(?:timeout exceeded when trying to connect|timeout expired|Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|The server does not support SSL)/;
const FIRST_MS = 50;
const LAST_MS = 1000;

/** `data`: the same rows would fail again. `other`: no known fault of the server or the rows; perhaps a bug of ours. */
export type FaultKind = 'retry' | 'data' | 'other';

export interface Patience {
  /** Milliseconds after which the last error is thrown. */
  ms: number;
  /** Once it returns true, nothing is retried. */
  isStopping?: () => boolean;
}

/** Classifies an error thrown by `pg` or by the code around it. */
export function faultKind(error: unknown): FaultKind {
  const code = sqlState(error);
  if (code === undefined) return isConnectionFault(error) ? 'retry' : 'other';
  const group = code.slice(0, 2);
  if (STORE.test(code) || RETRYABLE_CLASSES.has(group)) return 'retry';
  return DATA_CLASSES.has(group) ? 'data' : 'other';
}

/** Runs `work`, and retries while it fails with a transient error. `work` must tolerate being run twice. */
export async function retryWhileUnavailable<T>(work: () => Promise<T>, patience: Patience): Promise<T> {
  const end = performance.now() + patience.ms;
  for (let wait = FIRST_MS; ; wait = Math.min(wait * 2, LAST_MS)) {
    try {
      return await work();
    } catch (error) {
      const isOver = performance.now() > end || (patience.isStopping?.() ?? false);
      if (isOver || faultKind(error) !== 'retry') throw error;
    }
    await sleep(wait);
  }
}

/** Whether the cause is the database, which is unreachable or cannot serve now, as opposed to a bug or the data. */
export function isStoreFault(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined ? isConnectionFault(error) : STORE.test(state);
}

/** Whether the server could not be reached, or was lost. */
export function isConnectionFault(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isConnectionFault);
  const { code, syscall, message } = (error ?? {}) as { code?: unknown; syscall?: unknown; message?: unknown };
  if (typeof code === 'string' && SOCKET.has(code)) return code !== 'ENOENT' || syscall === 'connect';
  return (typeof code === 'string' && TLS.test(code)) || (typeof message === 'string' && WORDS.test(message));
}

/** The five-character SQLSTATE, if the error came from the server. It contains a digit, unlike a socket's `EPIPE`. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
