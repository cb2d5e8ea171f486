/** Distinguishes "the database is down or overloaded, try again" from a bug in this program. */
import { isConnectionFault, sqlState } from '../db/sqlstates.ts';

/**
 * SQLSTATE classes 08 (connection), 40 (deadlock), 53 (out of resources) and 57P (shutting down, starting up); and
 * timeouts: of a lock (55P03), a statement (57014), an idle transaction (25P03).
 */
const SQLSTATE = /^(?:08...|40...|53...|57P..|55P03|57014|25P03)$/;

/** Whether the cause of `error` is a database that is unreachable or cannot serve right now. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined ? isConnectionFault(error) : SQLSTATE.test(state);
}
