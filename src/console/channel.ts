/**
 * HTTP requests to a handler of this process, over a connection in memory.
 *
 * The console calls the API and the token endpoint this way. It needs no port, and works where the server cannot reach
 * its own public address: behind a proxy, with another name inside, with a certificate that it does not trust.
 * Guarantee: a call ends within LIMIT_MS.
 */
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { buffer } from 'node:stream/consumers';

const LIMIT_MS = 30_000;

export interface ChannelRequest {
  method?: string | undefined;
  headers?: Record<string, string>;
  body?: string | undefined;
}

/** Sends a request to a path of the handler; returns the response with its body. */
export type Channel = (path: string, options?: ChannelRequest) => Promise<Response>;

export function openChannel(handler: RequestListener): Channel {
  const server = createServer(handler);
  return async (path, { method = 'GET', headers = {}, body } = {}) => {
    const [ours, theirs] = duplexPair();
    server.emit('connection', theirs);
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const signal = AbortSignal.timeout(LIMIT_MS);
    try {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request({
          // Any Duplex will do.
          createConnection: () => ours as unknown as Socket,
          headers: { host: 'localhost', connection: 'close', ...headers, ...length },
          path,
          method,
          signal,
        });
        sent.on('response', resolve).on('error', reject).end(body);
      });
      return toResponse(answer, await buffer(answer));
    } finally {
      ours.destroy();
      theirs.destroy();
    }
  };
}

function toResponse({ statusCode = 500, rawHeaders }: IncomingMessage, body: Buffer): Response {
  const headers = new Headers();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    headers.append(rawHeaders[i] as string, rawHeaders[i + 1] as string);
  }
  const isEmpty = statusCode === 204 || statusCode === 304;
  return new Response(isEmpty ? null : new Uint8Array(body), { status: statusCode, headers });
}
