/**
 * The listening socket and its patience.
 *
 * Guarantee: a caller who falls silent in the middle of a request or an answer is cut off, one who waits for us is not.
 * `stop` lets every request in progress finish for as long as it is allowed to, then cuts the rest.
 * If we die here callers see a closed connection and know that they have no answer.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** To send the head of a request. */
const HEADERS_MS = 30_000;
/** Longer than the 60 seconds after which usual proxies drop an idle connection, so that they never race with us. */
const KEEP_ALIVE_MS = 65_000;
/** Without a byte in either direction, while it is the caller's turn. */
const SILENCE_MS = 120_000;
const SWEEP_MS = 50;

export interface ListenOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  silenceMs?: number;
}

export interface Listening {
  port: number;
  /** Takes no further connection, finishes what runs, and after `graceMs` cuts what still does. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts to listen.
 * @throws Error EADDRINUSE and the like
 */
export async function listen(handler: RequestListener, options: ListenOptions): Promise<Listening> {
  const server = createServer(
    { keepAlive: true, keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: HEADERS_MS },
    handler,
  );
  // An import may upload for hours as long as it moves; bodies of other requests have a limit of their own.
  server.requestTimeout = 0;
  cutSilence(server, options.silenceMs ?? SILENCE_MS);
  server.listen(options.port, options.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, stop: (graceMs) => stop(server, graceMs) };
}

/** Some answers take minutes to begin (`Prefer: wait`) or to go on (a stream of events): those are our turn. */
function cutSilence(server: Server, silenceMs: number): void {
  const current = new WeakMap<Socket, { req: IncomingMessage; res: ServerResponse }>();
  server.prependListener('request', (req, res) => current.set(req.socket, { req, res }));
  server.setTimeout(silenceMs, (socket) => {
    const exchange = current.get(socket);
    const isOurTurn = exchange?.req.complete && !exchange.res.writableFinished && !exchange.res.writableNeedDrain;
    if (!isOurTurn) socket.destroy();
  });
}

async function stop(server: Server, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // A connection that was busy stays open for its caller's next request, which will not come to be answered.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
