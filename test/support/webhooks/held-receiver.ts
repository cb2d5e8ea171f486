/**
 * A real receiver of webhooks on a free loopback port that answers only when the test says so. Each path is a receiver of
 * its own: all messages to a path are held, or answered at once if the path is open.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HeldReceiver {
  url(path: string): string;
  /** All messages in order of arrival. */
  arrived: { path: string; id: string }[];
  open(path: string): void;
  /** How many messages to the path wait for their answer. */
  held(path: string): number;
  /** Accepts the message to the path that waits longest. */
  acceptOne(path: string): void;
  stop(): Promise<void>;
}

export async function startHeldReceiver(): Promise<HeldReceiver> {
  const arrived: HeldReceiver['arrived'] = [];
  const open = new Set<string>();
  const waiting: { path: string; res: ServerResponse }[] = [];
  const of = (path: string) => waiting.filter((one) => one.path === path);
  const server = createServer(async (req, res) => {
    for await (const _ of req); // to the end of the body
    const path = (req.url ?? '').slice(1);
    arrived.push({ path, id: String(req.headers['webhook-id']) });
    if (open.has(path)) return res.writeHead(204).end();
    const one = { path, res };
    waiting.push(one);
    res.on('close', () => waiting.splice(waiting.indexOf(one), 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}/${path}`,
    arrived,
    open: (path) => open.add(path),
    held: (path) => of(path).length,
    acceptOne: (path) => of(path)[0]?.res.writeHead(204).end(),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
