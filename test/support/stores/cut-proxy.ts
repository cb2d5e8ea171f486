/** A TCP proxy that breaks each connection after a number of response bytes, like a failing network. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CutProxy {
  url: string;
  /** All response bytes so far, including headers. */
  answers(): string;
  stop(): Promise<void>;
}

/** @param afterBytes number of bytes from `target`, including headers */
export async function startCutProxy(target: string, afterBytes = Number.POSITIVE_INFINITY): Promise<CutProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let answers = '';
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('close', () => open.delete(socket));
      socket.on('error', () => {}); // broken connections are its purpose
    }
    client.pipe(upstream);
    let left = afterBytes;
    upstream.on('data', (chunk: Buffer) => {
      const piece = chunk.subarray(0, Math.min(left, chunk.length));
      answers += piece;
      client.write(piece);
      left -= chunk.length;
      if (left > 0) return;
      client.destroySoon();
      upstream.destroy();
    });
    upstream.on('close', () => client.destroySoon());
    client.on('close', () => upstream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers: () => answers,
    async stop() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}
