/**
 * The socket of a connection, which pg 8.23 does not expose: `connection.stream` of its client. With TLS, it
 * is the TLS socket.
 *
 * Two places need it. timed-client.ts destroys the connection to a silent server at once, with an error of our own.
 * imports/intake/copy.ts sends the header and the rows of a COPY as one packet, and must know when it may reuse a
 * buffer.
 */
import type { Duplex } from 'node:stream';
import type pg from 'pg';

/** @throws Error when this version of pg keeps its socket elsewhere */
export function socketOf(client: pg.ClientBase): Duplex {
  const socket = (client as unknown as { connection?: { stream?: Duplex } }).connection?.stream;
  if (typeof socket?.cork !== 'function' || typeof socket.destroy !== 'function') {
    throw new Error('This version of pg has no socket at client.connection.stream.');
  }
  return socket;
}
