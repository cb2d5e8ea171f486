/**
 * Ends requests whose body arrives too slowly: such a request would hold its place, and so keep out others, for as long
 * as its client likes.
 *
 * Guarantee: only time in which the service waits for the client counts. A body that waits to be read is never too slow.
 */
import type { IncomingMessage, Server } from 'node:http';

export interface BodyRate {
  /** In each time of this length, in milliseconds … */
  windowMs: number;
  /** … at least this many bytes must arrive. */
  bytes: number;
}

/** 500 bytes a second, the default of Apache's mod_reqtimeout: slower than any modem. */
export const BODY_RATE: BodyRate = { windowMs: 60_000, bytes: 30_000 };
const LOOKS_PER_WINDOW = 12;

/** What is read of a request. */
export interface Arriving {
  /** Whether the whole body has arrived. */
  complete: boolean;
  /** Bytes that have arrived and that nobody has read. */
  readableLength: number;
  socket: { bytesRead: number };
}

export interface BodyWatch<T extends Arriving> {
  add(req: T): void;
  remove(req: T): void;
  /** The requests that were too slow; they are watched no longer. @param now in milliseconds, by any clock */
  look(now: number): T[];
}

export function openBodyWatch<T extends Arriving>({ windowMs, bytes }: BodyRate): BodyWatch<T> {
  const windows = new Map<T, { since: number; from: number } | undefined>();
  return {
    add: (req) => void windows.set(req, undefined),
    remove: (req) => void windows.delete(req),
    look(now) {
      const tooSlow: T[] = [];
      for (const [req, window] of windows) {
        const { bytesRead } = req.socket;
        if (req.complete) windows.delete(req);
        else if (!window || req.readableLength > 0) windows.set(req, { since: now, from: bytesRead });
        else if (now - window.since < windowMs) continue;
        else if (bytesRead - window.from >= bytes) windows.set(req, { since: now, from: bytesRead });
        else tooSlow.push(req);
      }
      for (const req of tooSlow) windows.delete(req);
      return tooSlow;
    },
  };
}

/** Answers 408 to requests that are too slow (../protocol-errors.ts), and closes their connections. */
export function requireBodyRate(server: Server, rate: BodyRate = BODY_RATE): void {
  const watch = openBodyWatch<IncomingMessage>(rate);
  server.prependListener('request', (req: IncomingMessage) => {
    if (!hasBody(req)) return;
    watch.add(req);
    req.once('close', () => watch.remove(req));
  });
  const timer = setInterval(() => {
    for (const { socket } of watch.look(performance.now())) {
      const error = Object.assign(new Error('the body arrives too slowly'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      server.emit('clientError', error, socket);
    }
  }, rate.windowMs / LOOKS_PER_WINDOW).unref();
  server.once('close', () => clearInterval(timer));
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
