/**
 * The API, as the screens use it: in this process, with the token of the person who is signed in.
 *
 * Guarantee: a screen shows and does only what the API lets this person see and do; what no call of the API answers is
 * in `database.ts`. Each call checks the token and the roles again.
 */
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Request } from 'express';
import { type Answer, type Call, requestOf } from '../contract/client.ts';
import { ApiError, type ErrorBody, type ErrorId, STATUS, type StatusName } from '../platform/errors.ts';

export interface Api {
  /** Calls an operation by its name. @throws ApiError as the API answered it */
  call: Call;
}

/** @param req the browser's request: audit events name its address and its id */
export function openApi(channel: Channel, accessToken: string, req: Request, requestId: string): Api {
  const common = {
    authorization: `Bearer ${accessToken}`,
    'x-request-id': requestId,
    ...(req.ip ? { 'x-forwarded-for': req.ip } : {}),
    ...(req.get('user-agent') ? { 'user-agent': req.get('user-agent') as string } : {}),
  };

  return {
    async call(id, ...args) {
      const { method, path, headers, body } = requestOf(id, ...args);
      if (typeof body === 'object') throw new TypeError(`${id}: the console sends no streams.`);
      const sent = { method, headers: { ...common, ...headers }, ...(body === undefined ? {} : { body }) };
      const answer = await channel(path, sent);
      const json: unknown = answer.status === 204 ? {} : await answer.json();
      if (!answer.ok) throw toError(answer, json as Partial<ErrorBody>);
      return json as Answer<typeof id>;
    },
  };
}

/** @param body of the answer; a part of it may be missing */
function toError(answer: Response, body: Partial<ErrorBody>): ApiError {
  const { message = '', code, details = [] } = body;
  const status = (Object.keys(STATUS) as StatusName[]).find((name) => STATUS[name].code === code) ?? 'INTERNAL';
  const retryAfterS = Number(answer.headers.get('retry-after')) || undefined;
  // This service's own answer has an id of its list.
  const id = (details.find(({ id }) => id)?.id ?? 'INTERNAL') as ErrorId;
  return new ApiError(status, id, message, {
    http: answer.status,
    violations: details.flatMap(({ fieldViolations }) => fieldViolations ?? []),
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  });
}

const LIMIT_MS = 30_000;

export interface ChannelRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Sends a request to a path of the handler; returns the response with its body. */
export type Channel = (path: string, options?: ChannelRequest) => Promise<Response>;

/**
 * HTTP requests to a handler of this process, over a connection in memory. They need no port, and work where the server
 * cannot reach its own public address: behind a proxy, with another name inside, with a certificate that it does not
 * trust. A call ends within LIMIT_MS.
 */
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
