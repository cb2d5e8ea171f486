/** The process of the proxy: one port for each store, on which responses are delayed; see proxy.ts. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts } from 'node:net';
import process from 'node:process';
import { pipeline } from 'node:stream';
import { endWithParent } from './helper.ts';
import { delayLine } from './proxy-line.ts';

export interface ProxyOrder {
  delayMs: number;
  /** The address of each store. */
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
  // Each side closes when the other one does, but only after all data in transit has arrived.
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    const store = connect({ ...target, allowHalfOpen: true, noDelay: true });
    pipeline(client, store, ignore);
    pipeline(store, delayLine(delayMs), client, ignore);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A broken connection also ends on the other side; nothing else needs to be done. */
function ignore(): void {}
