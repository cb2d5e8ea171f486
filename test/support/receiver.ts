/** A real receiver of webhooks on a free loopback port, which keeps all messages and responds as instructed. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CaughtWebhook {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** When it arrived, in milliseconds since 1970. */
  at: number;
  /** The raw body as received. */
  raw: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages as receivers do
  body: any;
  /** What the receiver responded. */
  answered: number | 'silence' | 'flood';
}

export interface Receiver {
  url: string;
  /** All messages, accepted or not, in order of arrival. */
  messages: CaughtWebhook[];
  /** Responds to the next messages with these statuses; `silence` sends no response, `flood` one without end. */
  answer(...statuses: Array<number | 'silence' | 'flood'>): void;
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const messages: CaughtWebhook[] = [];
  const statuses: Array<number | 'silence' | 'flood'> = [];
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString();
    const answered = statuses.shift() ?? 204;
    const { method = '', url: path = '', headers } = req;
    messages.push({ method, path, headers, at: Date.now(), raw, body: JSON.parse(raw), answered });
    reply(res, answered);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook?of=imports`,
    messages,
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

function reply(res: ServerResponse, status: number | 'silence' | 'flood'): void {
  if (status === 'silence') return;
  if (status === 'flood') {
    res.on('error', () => {}); // the other side hangs up, as expected
    const timer = setInterval(() => res.write('x'.repeat(65_536)), 1);
    res.on('close', () => clearInterval(timer));
    return;
  }
  const elsewhere = status >= 300 && status < 400 ? { Location: '/elsewhere' } : {};
  res.writeHead(status, elsewhere).end();
}

/**
 * Checks a message as a receiver does, implemented from the specification, not from Muster's code: the signature
 * matches the raw bytes, and the time was current when it arrived.
 */
export function isGenuine(secret: string, { headers, raw, at: arrived }: CaughtWebhook): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures } = headers;
  if (Math.abs(arrived / 1000 - Number(at)) > 300) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${at}.${raw}`).digest('base64');
  return String(signatures).split(' ').includes(`v1,${expected}`);
}
