/** A receiver of OTLP over HTTP on a free loopback port, which keeps all spans. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ReceivedSpan, spansOf } from './spans.ts';

export interface Collector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  /** In order of arrival. */
  spans: ReceivedSpan[];
  /** The bodies of all requests, as text in which ASCII can be searched. */
  text(): string;
  /** Leaves all requests without an answer, until the returned function is called. */
  hold(): () => void;
  stop(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  let gate: Promise<void> = Promise.resolve();
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    await gate;
    const isTraces = req.url === '/v1/traces' && req.headers['content-type'] === 'application/x-protobuf';
    if (!isTraces) return res.writeHead(400).end();
    const body = Buffer.concat(chunks);
    bodies.push(body);
    spans.push(...spansOf(body));
    res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    text: () => Buffer.concat(bodies).toString('latin1'),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
