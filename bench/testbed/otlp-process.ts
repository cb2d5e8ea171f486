/** The process of the collector of traces (benches/tracing.ts): takes OTLP over HTTP, and counts the bytes. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { endWithParent } from './helper.ts';

export interface Collected {
  url: string;
  bytes: number;
}

const collected: Collected = { url: '', bytes: 0 };
const server = createServer((req, res) => {
  req.on('data', (chunk: Buffer) => {
    collected.bytes += chunk.length;
  });
  req.on('end', () => {
    res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
});
endWithParent();
await once(process, 'message');
server.listen(0, '127.0.0.1');
await once(server, 'listening');
collected.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
process.on('message', () => process.send?.(collected));
process.send?.(collected);
