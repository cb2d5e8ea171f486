/** The process of the proxy: a port of its own for each store, where answers arrive later; see proxy.ts. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts } from 'node:net';
import process from 'node:process';
import { pipeline } from 'node:stream';
import { endWithParent } from './helper.ts';
import { delayLine } from './proxy-line.ts';

export interface ProxyOrder {
  delayMs: number;
  /** Where each store is. */
  targets: Record<string, NetConnectOpts>;
}

/** The port of each store. */
export type ProxyReady = Record<string, number>;

endWithParent();
process.once('message', async ({ delayMs, targets }: ProxyOrder) => {
  const ports: ProxyReady = {};
  for (const [name, target] of Object.entries(targets)) ports[name] = await listen(target, delayMs);
  process.send?.(ports);
});

async function listen(target: NetConnectOpts, delayMs: number): Promise<number> {
  // Each side is closed when the other one is, and not before everything on its way has arrived.
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    const store = connect({ ...target, allowHalfOpen: true, noDelay: true });
    pipeline(client, store, ignore);
    pipeline(store, delayLine(delayMs), client, ignore);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A connection that breaks off breaks off on the other side too: nobody else need know. */
function ignore(): void {}
