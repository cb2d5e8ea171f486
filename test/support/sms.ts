/** A real HTTP gateway of text messages on a free loopback port that keeps what it gets, and refuses when it is told to. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CaughtText {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** As it came over the wire. */
  raw: string;
  body: { to: string; text: string };
}

export interface SmsGateway {
  url: string;
  /** All that was asked for, taken or not, in the order of arrival. */
  requests: CaughtText[];
  /** Answers the next requests with these statuses, one each; `silence` answers nothing. */
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
