/**
 * A real HTTP gateway for text messages on a free loopback port, which keeps all requests and rejects them as
 * instructed.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CaughtText {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The raw body as received. */
  raw: string;
  body: { to: string; text: string };
}

export interface SmsGateway {
  url: string;
  /** All requests, accepted or not, in order of arrival. */
  requests: CaughtText[];
  /** Responds to the next requests with these statuses, one each; `silence` sends no response. */
  answer(...statuses: Array<number | 'silence'>): void;
  stop(): Promise<void>;
}

export async function startSmsGateway(): Promise<SmsGateway> {
  const requests: CaughtText[] = [];
  const statuses: Array<number | 'silence'> = [];
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString();
    requests.push({ method: req.method ?? '', path: req.url ?? '', headers: req.headers, raw, body: JSON.parse(raw) });
    reply(res, statuses.shift() ?? 202);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/send`,
    requests,
    answer(...next) {
      statuses.splice(0, statuses.length, ...next);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function reply(res: ServerResponse, status: number | 'silence'): void {
  if (status === 'silence') return;
  const elsewhere = status >= 300 && status < 400 ? { Location: '/elsewhere' } : {};
  res.writeHead(status, { 'Content-Type': 'application/json', ...elsewhere }).end('{"queued":true}');
}
