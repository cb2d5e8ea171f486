/**
 * The listening socket and its timeouts.
 *
 * Guarantee: a client that goes silent in the middle of a request or a response is disconnected, as is one whose body
 * hardly arrives (limits/body-rate.ts); a client that waits for the service is not. `stop` lets requests in progress finish within its grace period, then closes connections.
 * On crash: clients see a closed connection, and so know that there is no response.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import { type BodyRate, requireBodyRate } from './limits/body-rate.ts';
import { answerProtocolErrors, requireHost } from './protocol-errors.ts';
import { headersOfAll } from './response-headers.ts';

const HEADERS_MS = 30_000;
/** Over the 60 seconds after which common proxies close an idle connection, so that the proxy always closes first. */
const KEEP_ALIVE_MS = 65_000;
/** Time without a byte in either direction, while the service waits for the client. */
const SILENCE_MS = 120_000;
const SWEEP_MS = 50;
/**
 * Connections that wait to be accepted: one is accepted in each turn of the event loop, so some hundreds that come at
 * once wait for seconds on a busy process. Beyond this number the kernel resets them. It allows no more than
 * `net.core.somaxconn`, 4096 on Linux; the default of Node.js is 511.
 */
const BACKLOG = 4096;

export interface ListenOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  silenceMs?: number;
  /** How fast bodies must arrive; absent: BODY_RATE. */
  bodyRate?: BodyRate;
  /** Time to send the head of a request. */
  headersMs?: number;
  /** Logs requests that never reach the handler. */
  logger?: Pick<Logger, 'info'>;
  /** Headers of the responses to those requests. */
  headers?: Readonly<Record<string, string>>;
}

export interface Listening {
  port: number;
  /** Accepts no new connections, finishes requests in progress, closes the remaining connections after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts listening.
 * @throws Error EADDRINUSE and the like
 */
export async function listen(handler: RequestListener, options: ListenOptions): Promise<Listening> {
  const { headersMs = HEADERS_MS, headers = headersOfAll() } = options;
  const refusal = { ...options, headers };
  const timeouts = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: headersMs,
    connectionsCheckingInterval: headersMs,
  };
  const server = createServer(
    { keepAlive: true, requireHostHeader: false, ...timeouts },
    requireHost(handler, refusal),
  );
  answerProtocolErrors(server, refusal);
  // An import may upload for hours if it makes progress; bodies of other requests have their own limit.
  server.requestTimeout = 0;
  cutSilence(server, options.silenceMs ?? SILENCE_MS);
  requireBodyRate(server, options.bodyRate);
  server.listen({ port: options.port, host: options.host, backlog: BACKLOG });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, stop: (graceMs) => stop(server, graceMs) };
}

/** A response may take minutes to start (`Prefer: wait`) or continue (an event stream): then the client waits. */
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
  // A connection that was busy stays open for the next request of its client, which would not be answered.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
