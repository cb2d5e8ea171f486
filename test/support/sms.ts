/**
 * A real HTTP gateway for text messages on a free loopback port, which keeps all requests and rejects them as
 * instructed.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deliverMail, openBatchCommitter, openBatchLoader } from '../../src/messages/mail/deliver.ts';
import type { MailPointer } from '../../src/messages/mail/outbox.ts';
import { recordDeliveries } from '../../src/messages/mail/relay.ts';
import { openSmsGateway } from '../../src/messages/mail/sms-gateway.ts';
import type { TestApi } from './api.ts';

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

/** Delivers the text messages that are due in the outbox through a gateway, as a worker does. */
export async function deliverTexts(
  { pool, secrets, config, logger }: Pick<TestApi['deps'], 'pool' | 'secrets' | 'config' | 'logger'>,
  url: string,
): Promise<void> {
  const due = `select id, attempts as attempt from mail_outbox
    where state = 'pending' and kind::text in ('verify_phone', 'sign_in_text', 'factor_text') order by id`;
  const texts = openSmsGateway(url);
  const settler = openBatchCommitter((group) => recordDeliveries(pool, group));
  const loader = openBatchLoader(pool);
  const risk = { existsFor: () => false, since: () => false };
  const transport = { send: () => Promise.reject(new Error('a mail')), close: () => {} };
  for (const pointer of (await pool.query<MailPointer>(due)).rows) {
    await deliverMail({ pool, secrets, config, transport, texts, settler, loader, logger, risk }, pointer);
  }
}
