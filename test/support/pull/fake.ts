/** A server that plays an old system's API; each test supplies its routes. */

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

export interface FakeRequest {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface FakeAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** Sent as it is when it is bytes, else as JSON. */
  body?: unknown;
}

export interface Fake {
  url: string;
  /** What was asked, in order. */
  requests: FakeRequest[];
}

/** Answers 404 where `answer` returns nothing. */
export async function startFake(
  t: TestContext,
  answer: (request: FakeRequest) => FakeAnswer | undefined,
): Promise<Fake> {
  const requests: FakeRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', base());
    const asked = {
      method: request.method ?? '',
      url,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    requests.push(asked);
    const { status = 200, headers = {}, body = {} } = answer(asked) ?? { status: 404, body: { message: 'Not found' } };
    const isRaw = Buffer.isBuffer(body);
    response.writeHead(status, { ...(isRaw ? {} : { 'content-type': 'application/json' }), ...headers });
    response.end(isRaw ? body : JSON.stringify(body));
  });
  const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: base(), requests };
}
