/**
 * The socket of a connection, which pg 8.23 does not expose: `connection.stream` of its client, or of TLS once there is one.
 *
 * Two places need it. A silent server must cost the connection at once, with an error of our own (timed-client.ts); and a COPY
 * sends header and rows as one packet, and must know when a buffer may be reused (imports/intake/copy.ts).
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
