/**
 * Hands the answers of a directory on one by one, complete, and few of them.
 *
 * A directory may be anybody's. `ldapts` reads the messages of a chunk by recursion, and joins the chunks of an
 * incomplete message again with each of them, so some tens of kilobytes would end the process, and a long message would
 * fill its memory.
 * Guarantee: `ldapts` gets at most MOST_BYTES of a connection. What arrives without TLS is never read as a part of what
 * comes after (response injection).
 */
import type { Socket } from 'node:net';

/** The answers to a search without attributes and to a bind take some hundreds. */
const MOST_BYTES = 64 * 2 ** 10;
const SEQUENCE = 0x30;
const LONG_FORM = 0x80;
const MOST_LENGTH_BYTES = 4;

/** From now on, each event `data` of the socket is one message. Destroys the socket if it sends something else. */
export function passMessages<T extends Socket>(socket: T): T {
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...args: unknown[]) => boolean;
  let waiting: Buffer = Buffer.alloc(0);
  let bytes = 0;

  function pass(chunk: Buffer): boolean {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) return refuse('sent too much');
    waiting = Buffer.concat([waiting, chunk]);
    for (let length = messageLength(waiting); length !== undefined; length = messageLength(waiting)) {
      if (Number.isNaN(length) || length > MOST_BYTES) return refuse('sent no LDAP');
      if (waiting.length < length) break;
      const message = waiting.subarray(0, length);
      waiting = waiting.subarray(length);
      if (!socket.destroyed) emit('data', message);
    }
    return true;
  }

  function refuse(what: string): false {
    socket.destroy(new Error(`the directory ${what}`));
    return false;
  }

  socket.emit = ((event: string | symbol, ...args: unknown[]) =>
    event === 'data' ? pass(args[0] as Buffer) : emit(event, ...args)) as T['emit'];
  return socket;
}

/** Bytes of the message that begins here (BER, X.690 section 8.1); undefined before its length has arrived, NaN if it is none. */
export function messageLength(bytes: Buffer): number | undefined {
  const [tag, first] = bytes;
  if (tag !== undefined && tag !== SEQUENCE) return Number.NaN;
  if (first === undefined) return undefined;
  if (first < LONG_FORM) return 2 + first;
  const size = first - LONG_FORM;
  if (size === 0 || size > MOST_LENGTH_BYTES) return Number.NaN;
  return bytes.length < 2 + size ? undefined : 2 + size + bytes.readUIntBE(2, size);
}
