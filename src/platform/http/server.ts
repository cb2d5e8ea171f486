/**
 * The listening socket, its timeouts, and the answers to what Node's HTTP server would refuse with an empty response:
 * requests that are not HTTP, too large headers, contradicting lengths, a missing `Host`, an unknown `Expect`,
 * `CONNECT`, and a head or body that does not arrive in time.
 *
 * Guarantee: a client that goes silent in the middle of a request or a response is disconnected, as is one whose body
 * hardly arrives (limits.ts); a client that waits for the service is not. `stop` ends event streams, lets other requests in
 * progress finish within its grace period, then answers 503 to the rest and closes connections. A refusal has the error body and an `x-request-id`, like every
 * other response. Nothing is written into a response that has begun: then the connection is closed.
 */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  maxHeaderSize,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { ApiError, invalidArgument } from '../errors.ts';
import { newId } from '../ids.ts';
import { publicError } from './errors.ts';
import { type BodyRate, requireBodyRate } from './limits.ts';
import { headersOfAll } from './origins.ts';
import { CutRequest, noteCut } from './requests.ts';

const HEADERS_MS = 30_000;
/** Over the 60 seconds after which common proxies close an idle connection, so that the proxy always closes first. */
const KEEP_ALIVE_MS = 65_000;
/** Time without a byte in either direction, while the service waits for the client. */
const SILENCE_MS = 120_000;
const SWEEP_MS = 50;
/** How long a stop leaves idle connections open: longer than those of a busy proxy are idle. */
const IDLE_MS = 500;
/** Time to read the answer to a request that is cut, before its connection is closed. */
const CUT_MS = 1000;
/** After this time of a stop, connections that have sent nothing at all are closed: browsers open some ahead of need. */
const UNUSED_MS = 1000;
/**
 * Connections that wait to be accepted: one is accepted in each turn of the event loop, so some hundreds that come at
 * once wait for seconds on a busy process. Beyond this number the kernel resets them. It allows no more than
 * `net.core.somaxconn`, 4096 on Linux; the default of Node.js is 511.
 */
const BACKLOG = 4096;

/** Time for the client to read the response, while what it still sends is thrown away. */
const LINGER_MS = 2000;

const LENGTH = 'Content-Length must be given once, as a number, and not together with Transfer-Encoding.';
/** Messages by the code of the parser's error; any other code has the message of MALFORMED. */
const MESSAGES: Readonly<Record<string, string>> = {
  MALFORMED: 'The request must be valid HTTP/1.1.',
  HPE_INVALID_METHOD: 'The method must be one that HTTP defines, such as GET or POST.',
  HPE_INVALID_CONTENT_LENGTH: LENGTH,
  HPE_UNEXPECTED_CONTENT_LENGTH: LENGTH,
  HPE_INVALID_TRANSFER_ENCODING: 'Transfer-Encoding must be absent, or chunked without Content-Length.',
  HPE_INVALID_CHUNK_SIZE: 'The chunks of the body must be as Transfer-Encoding: chunked requires.',
};

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
  /**
   * Accepts no new connections, and finishes requests in progress. Those that are not finished after `graceMs` are
   * answered 503, and CUT_MS later their connections are closed; at once, without an answer, if `graceMs` is 0.
   */
  stop(graceMs: number): Promise<void>;
}

interface RefusalOptions {
  /** Headers of every response. */
  headers: Readonly<Record<string, string>>;
  logger?: Pick<Logger, 'info'>;
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
  const exchanges = noteExchanges(server);
  const sockets = noteSockets(server);
  server.listen({ port: options.port, host: options.host, backlog: BACKLOG });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, stop: (graceMs) => stop(server, { exchanges, sockets }, graceMs, refusal) };
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

interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
}

/** The requests that have no complete response yet. */
function noteExchanges(server: Server): Set<Exchange> {
  const exchanges = new Set<Exchange>();
  server.prependListener('request', (req, res) => {
    const exchange = { req, res };
    exchanges.add(exchange);
    res.once('close', () => exchanges.delete(exchange));
  });
  return exchanges;
}

function noteSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

async function stop(
  server: Server,
  { exchanges, sockets }: { exchanges: Set<Exchange>; sockets: Set<Socket> },
  graceMs: number,
  options: RefusalOptions,
): Promise<void> {
  const closed = once(server, 'close');
  // Node counts a connection without a first request as busy.
  const unused = setTimeout(() => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }, UNUSED_MS);
  // No new connections. A proxy may be sending a request on one that it keeps: its answer closes it.
  NetServer.prototype.close.call(server);
  server.prependListener('request', (_req, res) => {
    res.shouldKeepAlive = false;
  });
  let endsIdle = false;
  const idle = setTimeout(
    () => {
      endsIdle = true;
      server.close();
    },
    Math.min(IDLE_MS, graceMs),
  );
  // A connection that was busy stays open for the next request of its client, which would not be answered.
  const sweep = setInterval(() => {
    if (endsIdle) server.closeIdleConnections();
    for (const { res } of exchanges) finishSoon(res);
  }, SWEEP_MS);
  const cut = setTimeout(() => {
    for (const exchange of exchanges) cutOff(exchange, options);
  }, graceMs);
  const end = setTimeout(() => server.closeAllConnections(), graceMs + (graceMs > 0 ? CUT_MS : 0));
  await closed;
  clearInterval(sweep);
  for (const timer of [unused, idle, cut, end]) clearTimeout(timer);
  // It clears the server's own timer of connections.
  if (!endsIdle) server.close();
}

/** An event stream has no end of its own: its client opens it again, on another process. */
function finishSoon(res: ServerResponse): void {
  if (!res.headersSent) res.shouldKeepAlive = false;
  else if (!res.writableEnded && /^text\/event-stream/.test(String(res.getHeader('content-type')))) {
    res.on('error', () => {}); // it was about to write
    res.end();
  }
}

/** Answers 503, if nothing was sent: by the handler if it still reads the body, which it then gives up. */
function cutOff({ req, res }: Exchange, options: RefusalOptions): void {
  if (res.headersSent || !res.socket) return;
  noteCut(res);
  if (!req.complete && req.listenerCount('error') > 0) {
    // A connection that is closed now would be reset, as the client still sends, and the client would not see the answer.
    res.shouldKeepAlive = true;
    req.emit('error', new CutRequest());
  } else {
    refuse(res.socket, stopping(), options);
  }
}

/** Answers what the parser of the server refuses, and what has no handler. */
function answerProtocolErrors(server: Server, options: RefusalOptions): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (socket.writableEnded) return; // refused already; the client still sends
    if (error.code === 'ECONNRESET' || !isUnanswered(socket)) socket.destroy();
    else refuse(socket, clientError(error.code ?? ''), options);
  });
  server.on('connect', (_req, socket: Duplex) => refuse(socket, badMethod(), options));
  server.on('checkExpectation', (_req: IncomingMessage, res: ServerResponse) => respond(res, badExpect(), options));
}

/** The handler for requests that have one `Host` (RFC 9112 section 3.2). The server must be created with `requireHostHeader: false`. */
function requireHost(handler: RequestListener, options: RefusalOptions): RequestListener {
  return (req, res) => {
    const hosts = req.headersDistinct.host?.length ?? 0;
    if (hosts > 1 || (hosts === 0 && req.httpVersion === '1.1')) respond(res, badHost(hosts), options);
    else handler(req, res);
  };
}

function clientError(code: string): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `The request line and the headers together must be at most ${maxHeaderSize} bytes.`;
    return new ApiError('RESOURCE_EXHAUSTED', 'REQUEST-HEADERS', message, { http: 431 });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ApiError('DEADLINE_EXCEEDED', 'REQUEST-TIMEOUT', 'The request did not arrive in time.', { http: 408 });
  }
  return invalidArgument('REQUEST-MALFORMED', MESSAGES[code] ?? (MESSAGES.MALFORMED as string));
}

function badMethod(): ApiError {
  return new ApiError('UNIMPLEMENTED', 'REQUEST-METHOD', 'CONNECT is not supported.', { http: 405 });
}

function badExpect(): ApiError {
  return new ApiError('INVALID_ARGUMENT', 'REQUEST-EXPECT', 'Expect must be 100-continue or absent.', { http: 417 });
}

function stopping(): ApiError {
  return publicError(new CutRequest());
}

function badHost(hosts: number): ApiError {
  return invalidArgument('REQUEST-MALFORMED', hosts === 0 ? 'Host is required.' : 'Host must be sent once.');
}

/** Whether no byte of a response to the request in progress has been sent. */
function isUnanswered(socket: Duplex): boolean {
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: ServerResponse | null };
  return socket.writable && !current?.headersSent;
}

function respond(res: ServerResponse, error: ApiError, options: RefusalOptions): void {
  const { headers, body } = responseTo(error, options);
  res.writeHead(error.http, headers).end(body);
}

/** For a connection that Node's server no longer reads requests from. */
function refuse(socket: Duplex, error: ApiError, options: RefusalOptions): void {
  const { headers, body } = responseTo(error, options);
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.on('error', () => socket.destroy()); // the client has gone
  socket.end(`HTTP/1.1 ${error.http} ${STATUS_CODES[error.http]}\r\n${head.join('')}\r\n${body}`);
  // Closed at once, the connection would be reset if the client still sends, and the client would not see the response.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.resume();
}

function responseTo(error: ApiError, { logger, headers: ofAll }: RefusalOptions) {
  const requestId = newId();
  logger?.info({ requestId, status: error.http, id: error.id }, 'request refused');
  const body = JSON.stringify(error.toBody());
  const headers = {
    'x-request-id': requestId,
    ...ofAll,
    ...(error.http === 405 ? { Allow: 'DELETE, GET, HEAD, OPTIONS, POST, PUT' } : {}),
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    ...(error.retryAfterS === undefined ? {} : { 'Retry-After': String(error.retryAfterS) }),
    Connection: 'close',
  };
  return { headers, body };
}
